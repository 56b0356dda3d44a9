"""Inspection of a dense trace: rounds at fixed depths, acceptance by position, windows, calibration."""

from __future__ import annotations

import numpy as np

from adaptive_depth.sim.fixed_depth import emitted_tokens, round_starts
from adaptive_depth.sim.groups import BANDS, GroupTally, band_index, labels
from adaptive_depth.sim.inspection import CalibrationBin, DenseFindings, FixedDepth, WindowResponse
from adaptive_depth.sim.round_tally import AcceptanceTally, RoundTally, ratio
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import I64, DenseBlock

#: Depths at which a dense trace is walked, besides its own cap.
FIXED_DEPTHS = (1, 2, 3, 5, 7)
_BINS = 10


class DenseInspector:
    """Feed the blocks of one dense trace, then ask for the findings."""

    def __init__(self, header: TraceHeader) -> None:
        """Start empty; the reference is full context where recorded, else the first window."""
        self._header = header
        self._reference = header.windows.index(0) if 0 in header.windows else 0
        self._depths = [d for d in FIXED_DEPTHS if d < header.k_max] + [header.k_max]
        self._rounds = {(w, d): RoundTally() for w, d in self._walks()}
        self._capped = dict.fromkeys(self._depths, 0)
        self._changed = np.zeros(len(header.windows), np.int64)
        self._acceptance, self._contexts, self._workloads = AcceptanceTally(), GroupTally(), GroupTally()
        self._calibration = np.zeros((_BINS, 3))  # positions, sum of confidence, accepted
        self._positions = self._looping_known = self._looping = 0

    def add(self, block: DenseBlock) -> None:
        """Count one block."""
        reference = block.accepted[self._reference]
        self._positions += len(reference)
        self._acceptance.add(np.full(len(reference), self._header.k_max), reference)
        if 0 in self._header.windows:
            self._changed += (block.accepted != reference).sum(axis=1)
        for window, depth in self._walks():
            self._walk(block, window, depth)
        self._calibrate(block)
        if block.looping is not None:
            self._looping_known += len(block.looping)
            self._looping += int(block.looping.sum())

    def findings(self) -> DenseFindings:
        """What was counted so far."""
        k_max, windows = self._header.k_max, self._header.windows
        return DenseFindings(
            positions=self._positions,
            reference_depth=k_max,
            reference_window=windows[self._reference],
            at_fixed_depth=tuple(self._fixed(depth) for depth in self._depths),
            acceptance=self._acceptance.result(),
            at_cap=self._acceptance.at_cap(),
            by_window=tuple(self._response(w) for w in np.argsort(windows).tolist()),
            by_context=self._contexts.result(BANDS),
            by_workload=self._workloads.result(),
            calibration=self._bins() if self._calibration[:, 0].any() else (),
            looping=ratio(self._looping, self._looping_known),
        )

    def _walks(self) -> list[tuple[int, int]]:
        """(window index, depth): every depth at the reference window, every window at the cap."""
        depths = [(self._reference, depth) for depth in self._depths]
        windows = range(len(self._header.windows))
        return depths + [(w, self._header.k_max) for w in windows if w != self._reference]

    def _walk(self, block: DenseBlock, window: int, depth: int) -> None:
        accepted = block.accepted[window]
        starts = round_starts(accepted, block.start, depth)
        tokens = emitted_tokens(starts, block.start)
        self._rounds[window, depth].add(tokens, np.searchsorted(starts, block.start))
        if window == self._reference:
            self._capped[depth] += int((accepted[starts] >= depth).sum())
            if depth == self._header.k_max:
                self._group(block, starts, tokens)

    def _group(self, block: DenseBlock, starts: I64, tokens: I64) -> None:
        owner = np.searchsorted(block.start, starts, side="right") - 1
        prompt = block.context[owner]
        context = np.where(prompt < 0, -1, prompt + starts - block.start[owner])
        self._contexts.add(BANDS, band_index(context), owner, tokens)
        names, index = labels(block.workload)
        self._workloads.add(names, index[owner], owner, tokens)

    def _calibrate(self, block: DenseBlock) -> None:
        """Confidence of the first draft against its acceptance, reference window."""
        if block.probability is None or not self._header.k_max:
            return
        confidence = block.probability[self._reference, :, 0].astype(np.float64)
        known = np.isfinite(confidence)
        confidence, hit = confidence[known], block.accepted[self._reference][known] >= 1
        index = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
        for column, weights in enumerate((np.ones(len(index)), confidence, hit)):
            self._calibration[:, column] += np.bincount(index, weights, minlength=_BINS)

    def _fixed(self, depth: int) -> FixedDepth:
        statistics = self._rounds[self._reference, depth].result()
        return FixedDepth(depth, statistics, ratio(self._capped[depth], statistics.rounds) if depth else None)

    def _response(self, window: int) -> WindowResponse:
        statistics = self._rounds[window, self._header.k_max].result()
        changed = ratio(int(self._changed[window]), self._positions) if 0 in self._header.windows else None
        size = self._header.windows[window]
        return WindowResponse(size, statistics.rounds, statistics.accept_length, changed)

    def _bins(self) -> tuple[CalibrationBin, ...]:
        rows = enumerate(self._calibration.tolist())
        return tuple(
            CalibrationBin(i / _BINS, (i + 1) / _BINS, int(n), ratio(confidence, n), ratio(hits, n))
            for i, (n, confidence, hits) in rows
        )
