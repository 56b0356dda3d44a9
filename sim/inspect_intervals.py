"""Inspection of an intervals trace: averages as a log printed them, and rounds where it counted drafts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.sim.groups import BANDS, band_index
from adaptive_depth.sim.inspection import IntervalGroup, IntervalsFindings
from adaptive_depth.traces.blocks import concat_blocks, empty_intervals
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import F64, IntervalsBlock

Array = npt.NDArray[Any]


class IntervalsInspector:
    """Feed the blocks of one intervals trace, then ask for the findings; a log is small enough to hold."""

    def __init__(self, header: TraceHeader) -> None:
        """Start empty."""
        self._blocks: list[IntervalsBlock] = []

    def add(self, block: IntervalsBlock) -> None:
        """Keep one block."""
        self._blocks.append(block)

    def findings(self) -> IntervalsFindings:
        """Describe all intervals."""
        return _findings(concat_blocks([empty_intervals(), *self._blocks]))


def _findings(block: IntervalsBlock) -> IntervalsFindings:
    length, known = block.accept_length, ~np.isnan(block.accept_length)
    p10, p90 = np.percentile(length[known], [10, 90]).tolist() if known.any() else (None, None)
    rounds, accept_length = _over_rounds(block)
    return IntervalsFindings(
        intervals=len(length),
        speculating=int(known.sum()),
        rounds=rounds,
        accept_length=accept_length,
        accept_length_mean=_mean(length),
        accept_length_p10=p10,
        accept_length_p90=p90,
        tokens_per_second_median=_median(block.tokens_per_second),
        acceptance=tuple(_mean(column) for column in block.per_position.T),
        by_depth=_groups(block, block.depth, {d: str(d) if d >= 0 else "unknown" for d in range(-1, 128)}),
        by_context=_groups(block, band_index(_context(block)), dict(enumerate(BANDS))),
    )


def _over_rounds(block: IntervalsBlock) -> tuple[int | None, float | None]:
    """Rounds and their accept length, from intervals that count drafts at a known depth."""
    counted = (block.drafted > 0) & (block.accepted >= 0) & (block.depth > 0)
    if not counted.any():
        return None, None
    rounds = float((block.drafted[counted] / block.depth[counted]).sum())
    return round(rounds), 1 + float(block.accepted[counted].sum()) / rounds


def _context(block: IntervalsBlock) -> F64:
    """Mean context of a running request, -1 unknown."""
    known = (block.context >= 0) & (block.running > 0)
    context: F64 = np.where(known, block.context / np.maximum(block.running, 1), -1.0)
    return context


def _groups(block: IntervalsBlock, key: Array, names: dict[int, str]) -> tuple[IntervalGroup, ...]:
    rows = []
    for value in np.unique(key).tolist():
        here = key == value
        lengths, rates = block.accept_length[here], block.tokens_per_second[here]
        rows.append(IntervalGroup(names[value], int(here.sum()), _mean(lengths), _mean(rates)))
    return tuple(rows)


def _mean(values: F64) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _median(values: F64) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None
