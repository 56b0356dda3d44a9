"""Tokens per second against depth 0, from what was measured there or else from the cost model."""

from __future__ import annotations

import json
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from statistics import median
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
#: Rounds after which such a measurement is of another time: contexts grew, neighbours came and went.
FRESH = 1000


class Pace(NamedTuple):
    """A steady round: how many requests it served, tokens they kept, its depth and its seconds."""

    batch: int
    emitted: int
    depth: int
    seconds: float
    #: Seconds of depth 0 over those of this depth, by the cost model; NaN without one.
    zero_ratio: float


class Baseline:
    """Seconds of a round at depth 0: measured by batch size, modelled otherwise."""

    def __init__(self) -> None:
        """Knows nothing until a configuration or a round at depth 0 comes."""
        self._cost: CostModel | None = None
        self._sink = 0
        self._now = 0
        self._measured: dict[int, deque[tuple[int, float]]] = defaultdict(lambda: deque(maxlen=64))

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take the cost model of a log's header; none where it cannot be built here."""
        self._sink = config.get("sink") or 0
        self._cost = _cost_model(config.get("policy"))

    def pace(self, rows: Iterable[Row], number: int, depth: int, seconds: float) -> Pace:
        """Steady round ``number``, noted as a measurement where it ran at depth 0."""
        rows, self._now = list(rows), number
        if depth == 0:
            self._measured[len(rows)].append((number, seconds))
        return Pace(len(rows), sum(row.emitted for row in rows), depth, seconds, self._ratio(rows, depth))

    def speedup(self, paces: Iterable[Pace]) -> tuple[float, str]:
        """Tokens per second over those of depth 0, and what the latter rests on; NaN where unknown.

        A round counts as the median of its kind, at depth 0 as elsewhere: a stall is neither gain nor loss.
        """
        played = list(paces)
        usual = _medians(played)
        measured = [self._zero(pace.batch) for pace in played]
        known = sum(map(math.isfinite, measured))
        spent = sum(usual[pace.batch, pace.depth] for pace in played)
        zero = sum(
            seconds if math.isfinite(seconds) else usual[pace.batch, pace.depth] * pace.zero_ratio
            for seconds, pace in zip(measured, played, strict=True)
        )
        if not played or not math.isfinite(zero):
            return math.nan, ""
        gain = sum(pace.emitted for pace in played) / sum(pace.batch for pace in played)
        basis = "measured" if known == len(played) else "partly measured" if known else "modelled"
        return gain * zero / spent, basis

    def _zero(self, batch: int) -> float:
        seen = [seconds for number, seconds in self._measured.get(batch, ()) if self._now - number <= FRESH]
        return median(seen) if len(seen) >= ENOUGH else math.nan

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


def _medians(paces: list[Pace]) -> dict[tuple[int, int], float]:
    """Seconds of a round by batch and depth."""
    kinds: dict[tuple[int, int], list[float]] = defaultdict(list)
    for pace in paces:
        kinds[pace.batch, pace.depth].append(pace.seconds)
    return {kind: median(seconds) for kind, seconds in kinds.items()}


def _cost_model(policy: object) -> CostModel | None:
    try:
        file = PolicyFile.model_validate_json(json.dumps(policy))  # a list is no tuple to a strict model
        return file.cost_model() or preset(DEFAULT_COST)
    except (AdaptiveDepthError, ValueError):  # another release's, or a cost file that lies elsewhere
        return None
