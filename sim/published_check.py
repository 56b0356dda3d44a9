"""Published acceptance figures against a synthetic set, through the cost presets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_depth.controller.presets import preset
from adaptive_depth.controller.published import BEST_DEPTHS, MILLION
from adaptive_depth.sim.anchor_fit import load_of, step_ms
from adaptive_depth.sim.fixed_depth import round_starts
from adaptive_depth.sim.published_acceptance import ANCHORS, AcceptanceAnchor, depths_swept
from adaptive_depth.traces.records import I8, I64


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One figure: published, synthetic, and the residual as a fraction (None for a depth)."""

    trace_set: str
    quantity: str
    window: int
    depth: int
    published: float
    synthetic: float
    residual: float | None
    fitted: bool
    source: str


class SetFigures:
    """Accept lengths and times per token of one dense set at any depth and window, each worked out once."""

    def __init__(self, model: str, windows: Sequence[int], accepted: I8, start: I64) -> None:
        """``accepted[W, N]`` in the order of ``windows``; ``model`` names the preset (q35, q122, nem)."""
        self._cost = preset(f"{model}-b200")
        self._rows = dict(zip(windows, accepted, strict=True))
        self._start = start
        self._lengths: dict[tuple[int, int], float] = {}

    def accept_length(self, window: int, depth: int) -> float:
        """Tokens a round at a fixed depth."""
        key = (window, depth)
        if key not in self._lengths:
            counts = self._rows[window]
            self._lengths[key] = len(counts) / len(round_starts(counts, self._start, depth))
        return self._lengths[key]

    def ms_per_token(self, window: int, depth: int) -> float:
        """Milliseconds a token at a fixed depth, one request at 1.04M context."""
        length = self.accept_length(window, depth)
        return step_ms(self._cost, depth, load_of(MILLION, window)) / length

    def best_depth(self, model: str, window: int) -> int:
        """The published sweep's depth of least time per token."""
        return min(depths_swept(model, window), key=lambda depth: self.ms_per_token(window, depth))

    def figure(self, anchor: AcceptanceAnchor) -> float:
        """The set's counterpart of a published figure."""
        ms = self.ms_per_token(anchor.window, anchor.depth)
        match anchor.quantity:
            case "accept_length":
                return self.accept_length(anchor.window, anchor.depth)
            case "ms_per_token":
                return ms
            case "window_gain":
                return self.ms_per_token(0, anchor.depth) / ms
            case "speedup":
                return self.ms_per_token(0, 0) / ms


def check_rows(name: str, figures: SetFigures) -> list[CheckRow]:
    """Every published figure of set ``name`` (``model-task``) against ``figures``."""
    rows = [_figure_row(figures, anchor) for anchor in ANCHORS if anchor.set_name == name]
    for cell in BEST_DEPTHS:
        if f"{cell.model}-{cell.task}" == name:
            found = figures.best_depth(cell.model, cell.window)
            figure = (cell.window, cell.depth, float(cell.depth), float(found), None, True, "Table 3")
            rows.append(CheckRow(name, "best_depth", *figure))
    return rows


def _figure_row(figures: SetFigures, anchor: AcceptanceAnchor) -> CheckRow:
    found = figures.figure(anchor)
    return CheckRow(
        anchor.set_name,
        anchor.quantity,
        anchor.window,
        anchor.depth,
        anchor.value,
        found,
        found / anchor.value - 1,
        anchor.sigma > 0,
        anchor.source,
    )


def worst(rows: Sequence[CheckRow]) -> float:
    """The largest residual of the figures that were fitted, as a fraction."""
    return float(
        np.max([abs(row.residual) for row in rows if row.residual is not None and row.fitted], initial=0.0)
    )
