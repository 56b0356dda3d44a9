"""A rounds trace made dense, so that any policy can be replayed on it: ``modelled`` where it was not played.

Positions at which a round was played keep their recorded count (a censored one at least its depth). Every
other position is drawn from a generator fitted to the trace: a level by request, autoregressive drift, shared
token difficulty (:mod:`adaptive_depth.sim.synth_fit`). Nothing deeper than the deepest recorded round
is invented.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from adaptive_depth.sim.engine.trace_set import TraceSet, known_context
from adaptive_depth.sim.synth_bench import request_scores
from adaptive_depth.sim.synth_target import target_of
from adaptive_depth.sim.synth_twin import fit_block
from adaptive_depth.traces.blocks import select_requests
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import RoundsBlock
from adaptive_depth.traces.synth import accepted_counts, draw_noise

REJECTION_SEEN = 127


def complete_rounds(header: TraceHeader, block: RoundsBlock, seed: int = 0) -> TraceSet:
    """The dense stand-in of a rounds trace, the same for a seed; ConfigError if nothing can be fitted."""
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    block = select_requests(block, np.flatnonzero(block.output_tokens > 0))
    ordered = header.ordered
    if not ordered:
        header, block = header.model_copy(update={"ordered": True}), _shuffled(block, rng)
    target = target_of(block, header.k_max)
    model = fit_block(header, block, rng).model
    noise = draw_noise(rng, block.output_tokens, target.k_max)
    counts = accepted_counts(replace(model, windows=model.windows[:1]), noise, request_scores(target))[0]
    start = np.concatenate([[0], np.cumsum(block.output_tokens)]).astype(np.int64)
    known = np.full(len(counts), -1, np.int8)
    if ordered:
        _keep_recorded(block, target.k_max, start, counts, known)
    context, note = known_context(block.context)
    return TraceSet(
        name=header.trace_set,
        origin=header.origin,
        windows=header.windows[:1],
        sink=header.sink,
        k_max=target.k_max,
        context=context,
        start=start,
        accepted=counts[None],
        evidence="exact",
        workload=block.workload,
        request_id=block.request_id,
        known=known,
        note=note,
    )


def _shuffled(block: RoundsBlock, rng: np.random.Generator) -> RoundsBlock:
    """Rounds in random order within each request: a histogram's own order would look like drift."""
    row = np.repeat(np.arange(block.requests), np.diff(block.start))
    order = np.lexsort((rng.random(len(row)), row))
    return replace(
        block,
        depth=block.depth[order],
        accepted=block.accepted[order],
        emitted=block.emitted[order],
        seconds=block.seconds[order],
    )


def _keep_recorded(
    block: RoundsBlock,
    k_max: int,
    start: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int8],
    known: npt.NDArray[np.int8],
) -> None:
    row = np.repeat(np.arange(block.requests), np.diff(block.start))
    inside = block.position < block.output_tokens[row]  # a round in flight at the end lies outside
    at = start[row[inside]] + block.position[inside]
    accepted = block.accepted[inside].astype(np.int8)
    depth = np.where(block.depth[inside] < 0, k_max, block.depth[inside])
    rejected = accepted < depth
    counts[at] = np.where(rejected, accepted, np.maximum(counts[at], accepted))
    known[at] = np.where(rejected, REJECTION_SEEN, depth)
