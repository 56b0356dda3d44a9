"""Inspection of a rounds trace: what happened at the depths that were played."""

from __future__ import annotations

import numpy as np

from adaptive_depth.sim.groups import BANDS, GroupTally, band_index, by_number, labels, numbers
from adaptive_depth.sim.inspection import RoundsFindings
from adaptive_depth.sim.round_tally import AcceptanceTally, RoundTally
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import I64, RoundsBlock


class RoundsInspector:
    """Feed the blocks of one rounds trace, then ask for the findings."""

    def __init__(self, header: TraceHeader) -> None:
        """Start empty."""
        self._ordered = header.ordered
        self._rounds, self._acceptance = RoundTally(header.ordered), AcceptanceTally()
        self._depths, self._windows, self._contexts, self._workloads = (GroupTally() for _ in range(4))
        self._output_tokens = self._known_depth = self._timed = 0

    def add(self, block: RoundsBlock) -> None:
        """Count one block."""
        verified = block.accepted.astype(np.int64) + 1
        owner = np.repeat(np.arange(block.requests), np.diff(block.start))
        self._rounds.add(verified, block.start)
        self._acceptance.add(block.depth, block.accepted)
        self._output_tokens += int(block.output_tokens.sum())
        self._known_depth += int((block.depth >= 0).sum())
        self._timed += int(np.isfinite(block.seconds).sum())
        self._depths.add(*numbers(block.depth), owner, verified)
        self._windows.add(*numbers(block.window), owner, verified)
        self._contexts.add(BANDS, band_index(self._context(block, owner)), owner, verified)
        names, index = labels(block.workload)
        self._workloads.add(names, index[owner], owner, verified)

    def findings(self) -> RoundsFindings:
        """What was counted so far."""
        return RoundsFindings(
            output_tokens=self._output_tokens,
            statistics=self._rounds.result(),
            rounds_of_known_depth=self._known_depth,
            rounds_with_seconds=self._timed,
            accepted_histogram=self._acceptance.accepted_histogram(),
            acceptance=self._acceptance.result(),
            at_cap=self._acceptance.at_cap(),
            by_depth=by_number(self._depths.result()),
            by_window=by_number(self._windows.result()),
            by_context=self._contexts.result(BANDS),
            by_workload=self._workloads.result(),
        )

    def _context(self, block: RoundsBlock, owner: I64) -> I64:
        """Committed tokens before each round, -1 unknown; of the prompt alone where the order is lost."""
        prompt = block.context[owner]
        grown = block.position if self._ordered else np.zeros_like(block.position)
        return np.where(prompt < 0, np.int64(-1), prompt + grown)
