"""Tokens per second against depth 0, from what was measured there or else from the cost model."""

from __future__ import annotations

import json
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from adaptive_depth.controller.build import DEFAULT_COST
from adaptive_depth.controller.depth_controller import group_load
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.cost_model import CostModel
from adaptive_depth.policies.types import BatchView
from adaptive_depth.traces.decisions import Row
from adaptive_depth.traces.errors import AdaptiveDepthError

#: Rounds at depth 0 that must have been seen at a batch size before they are trusted.
ENOUGH = 5


class Pace(NamedTuple):
    """A steady round: how many requests it served, tokens they kept, its seconds, and those of depth 0."""

    batch: int
    emitted: int
    depth: int
    seconds: float
    #: What the cost model says of depth 0, scaled to the measured round; NaN without a model.
    modelled_zero: float


class Baseline:
    """Seconds of a round at depth 0: measured by batch size, modelled otherwise."""

    def __init__(self) -> None:
        """Knows nothing until a configuration or a round at depth 0 comes."""
        self._cost: CostModel | None = None
        self._sink = 0
        self._measured: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=64))

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take the cost model of a log's header; none where it cannot be built here."""
        self._sink = config.get("sink") or 0
        self._cost = _cost_model(config.get("policy"))

    def pace(self, rows: Iterable[Row], depth: int, seconds: float) -> Pace:
        """A steady round, noted as a measurement where it ran at depth 0."""
        rows = list(rows)
        if depth == 0:
            self._measured[len(rows)].append(seconds)
        zero = seconds * self._ratio(rows, depth)
        return Pace(len(rows), sum(row.emitted for row in rows), depth, seconds, zero)

    def speedup(self, paces: Iterable[Pace]) -> tuple[float, str]:
        """Tokens per second over those of depth 0, and what the latter rests on; NaN where unknown."""
        played = list(paces)
        measured = [self._zero(pace.batch) for pace in played]
        known = sum(map(math.isfinite, measured))
        zero = sum(
            m if math.isfinite(m) else pace.modelled_zero for m, pace in zip(measured, played, strict=True)
        )
        if not played or not math.isfinite(zero):
            return math.nan, ""
        rate = sum(pace.emitted for pace in played) / sum(pace.seconds for pace in played)
        basis = "measured" if known == len(played) else "partly measured" if known else "modelled"
        return rate / (sum(pace.batch for pace in played) / zero), basis

    def _zero(self, batch: int) -> float:
        seen = self._measured.get(batch, ())
        return sum(seen) / len(seen) if len(seen) >= ENOUGH else math.nan

    def _ratio(self, rows: list[Row], depth: int) -> float:
        """Depth 0's share of a round's seconds, by the model."""
        if self._cost is None or not rows:
            return math.nan
        context = np.array([row.context for row in rows], np.int64)
        one_group = np.zeros(len(rows), np.int32)
        view = BatchView(np.arange(len(rows), dtype=np.int32), one_group, context, context)
        window = np.array([row.window for row in rows], np.int32)
        load = group_load(view, self._sink, window, self._cost)
        zero, here = self._cost.seconds(load, np.array([0, depth], np.int8))[0].tolist()
        return float(zero / here)


def _cost_model(policy: object) -> CostModel | None:
    try:
        file = PolicyFile.model_validate_json(json.dumps(policy))  # a list is no tuple to a strict model
        return file.cost_model() or preset(DEFAULT_COST)
    except (AdaptiveDepthError, ValueError):  # another release's, or a cost file that lies elsewhere
        return None
