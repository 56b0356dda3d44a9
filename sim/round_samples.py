"""Timed rounds out of traces: what a cost can be fitted to, and how much was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.cost_model import Load
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import Block, RoundsBlock

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RoundSamples:
    """Rounds with their seconds, all ``[N]``.

    A trace tells a round's batch but not the contexts of the other requests in it, so a shared round
    counts as ``batch`` requests of its own context.
    """

    batch: I64
    context: I64
    window_reads: I64  # tokens one draft step reads for one request
    depth: I64
    seconds: F64

    def __len__(self) -> int:
        """Number of rounds N."""
        return len(self.seconds)

    def take(self, mask: Bool) -> RoundSamples:
        """The rounds where ``mask`` holds."""
        return replace(
            self,
            batch=self.batch[mask],
            context=self.context[mask],
            window_reads=self.window_reads[mask],
            depth=self.depth[mask],
            seconds=self.seconds[mask],
        )

    def load(self, extend_windowed: bool) -> Load:
        """The load of every round."""
        total, reads = self.batch * self.context, self.batch * self.window_reads
        return Load(self.batch, total, reads if extend_windowed else total, reads)


def collect(blocks: Iterable[tuple[TraceHeader, Block]]) -> tuple[RoundSamples, Counter[str]]:
    """The usable rounds of all blocks, and a count of what was left out or assumed, by reason."""
    parts: list[RoundSamples] = []
    counts: Counter[str] = Counter()
    for header, block in blocks:
        if isinstance(block, RoundsBlock):
            parts.append(_samples(header, block, counts))
        else:
            counts[f"requests of {header.kind} traces, which hold no round times"] += block.requests
    return joined(parts), counts


def joined(parts: Sequence[RoundSamples]) -> RoundSamples:
    """All rounds of ``parts``, in order."""
    none, never = np.zeros(0, np.int64), np.zeros(0)
    return RoundSamples(
        np.concatenate([none, *(p.batch for p in parts)]),
        np.concatenate([none, *(p.context for p in parts)]),
        np.concatenate([none, *(p.window_reads for p in parts)]),
        np.concatenate([none, *(p.depth for p in parts)]),
        np.concatenate([never, *(p.seconds for p in parts)]),
    )


def _samples(header: TraceHeader, block: RoundsBlock, counts: Counter[str]) -> RoundSamples:
    """One block's rounds that have a depth and seconds and are no warm-up."""
    lengths = np.diff(block.start)
    warm = np.repeat(np.array([name.endswith("warm-up") for name in block.workload], bool), lengths)
    timed = np.isfinite(block.seconds) & (block.seconds > 0)
    counts["rounds"] += len(timed)
    counts["rounds without seconds"] += int((~timed).sum())
    counts["rounds of warm-up requests"] += int((timed & warm).sum())
    counts["rounds of unknown depth"] += int((timed & ~warm & (block.depth < 0)).sum())
    prompt = np.repeat(block.context, lengths)
    usable = timed & ~warm & (block.depth >= 0)
    counts["rounds of unknown batch, taken as 1"] += int((usable & (block.batch < 1)).sum())
    counts["rounds of unknown context, taken as the output so far"] += int((usable & (prompt < 0)).sum())
    context = np.maximum(prompt, 0) + block.position
    reads = np.where(block.window > 0, np.minimum(context, block.window + header.sink), context)
    batch, depth = np.maximum(block.batch, 1).astype(np.int64), block.depth.astype(np.int64)
    return RoundSamples(batch, context.astype(np.int64), reads.astype(np.int64), depth, block.seconds).take(
        usable
    )


def sound(samples: RoundSamples, least_in_cell: int = 8) -> Bool:
    """Rounds near the median of their cell, on a log scale; a cell with few rounds is not judged.

    A cell holds one depth and batch, and contexts and reads within a factor of two: a long context is no
    stall. Compilation, warm-up and stalls take many times the usual; five spreads or half as much again
    is the line.
    """
    logs = np.log(samples.seconds)
    keep = np.ones(len(samples), bool)
    octaves = (np.log2(np.maximum(v, 1)).astype(np.int64) for v in (samples.context, samples.window_reads))
    _, cell = np.unique(np.stack([samples.depth, samples.batch, *octaves]), axis=1, return_inverse=True)
    order = np.argsort(cell, kind="stable")
    for here in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
        if len(here) >= least_in_cell:
            miss = np.abs(logs[here] - np.median(logs[here]))
            keep[here] = miss <= max(5 * 1.4826 * float(np.median(miss)), np.log(1.5))
    return keep
