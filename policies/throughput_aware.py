"""``throughput-aware``: SGLang pull request 28045, expected tokens over the cost of a start-up profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.cost_model import CostModel
from adaptive_depth.policies.group_state import GroupState
from adaptive_depth.policies.registry import register
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Load, Plan, Reason, RoundResult
from adaptive_depth.traces.errors import ConfigError

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputAwareConfig:
    """The pull request's own parameters: ``window_size`` and ``update_interval`` in rounds of the group.

    A challenger has to score ``switch_hysteresis`` above the current depth. ``profile_seq_len`` is the
    context, in tokens, at which every request is priced.
    """

    window_size: int = 20
    update_interval: int = 5
    switch_hysteresis: float = 0.1
    profile_seq_len: int = 128

    def __post_init__(self) -> None:
        for name in ("window_size", "update_interval", "profile_seq_len"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.window_size > 10_000:
            raise ValueError(f"window_size must be at most 10000, got {self.window_size}")
        if not 0.0 <= self.switch_hysteresis <= 100.0:
            raise ValueError(f"switch_hysteresis must be in [0, 100], got {self.switch_hysteresis}")


@register("throughput-aware", ThroughputAwareConfig)
class ThroughputAware:
    """Score = (1 + Σ p[k]) / T(batch size, depth), with p[k] the mean share of rows accepting more than k.

    The mean runs over the group's last 20 rounds that drafted so deep. Positions not seen are extrapolated
    geometrically. Every 5th round, once all positions of the current depth have a full window, the best
    score wins if it beats the current one by 10 %; a shallower choice forgets the positions above it. As in
    the pull request the cost is blind to the context (every request counts as ``profile_seq_len`` tokens),
    depth 0 is no candidate, so it cannot stop drafting, and the window stays the start window. Here the cost
    model is asked at the batch's own size; the pull request looks up the next larger size it profiled.

    >>> ThroughputAware(ThroughputAwareConfig(), Candidates()).depths.tolist()
    [1, 2, 3, 5, 7]
    """

    uses_survival = False
    learns = True
    learns = True

    def __init__(self, config: ThroughputAwareConfig, candidates: Candidates) -> None:
        self._config = config
        self.depths = candidates.depth_array[candidates.depth_array > 0]
        if not len(self.depths):
            raise ConfigError("throughput-aware needs a candidate depth above 0")
        self._window = candidates.start_window
        reads = candidates.reads(np.array([config.profile_seq_len]))
        self._reads = float(reads[0, candidates.windows.index(candidates.start_window)])
        self._positions = np.arange(candidates.k_max)
        start = np.flatnonzero(self.depths == candidates.start_depth)
        self._state = GroupState(
            rung=int(start[0]) if len(start) else len(self.depths) // 2,
            rounds=0,
            reason=int(Reason.WARMUP),
            seen=np.zeros(candidates.k_max, np.int64),
            total=np.zeros(candidates.k_max),
            share=np.zeros((candidates.k_max, config.window_size), np.float32),
        )

    def plan(self, batch: BatchView, estimates: Estimates) -> Plan:
        """Re-score the groups that are due and keep the others' depth."""
        groups, state = batch.groups, self._state
        state.reserve(groups)
        due = state["rounds"][groups] >= self._config.update_interval
        if due.any():
            self._evaluate(groups[due], batch.rows_per_group[due], estimates.cost)
        window = np.full(len(batch.slot), self._window, np.int32)
        return Plan(self.depths[state["rung"][groups]], window, state["reason"][groups].astype(np.uint8))

    def _evaluate(self, groups: npt.NDArray[Any], rows: I64, cost: CostModel) -> None:
        state = self._state
        state["rounds"][groups] = 0
        unseen = self._positions < self.depths[state["rung"][groups]][:, None]
        unseen &= state["seen"][groups] < self._config.window_size
        warm = ~unseen.any(axis=1)
        groups, rows = groups[warm], rows[warm]
        if len(groups):
            self._switch(groups, self._score(groups, rows, cost))

    def _score(self, groups: npt.NDArray[Any], rows: I64, cost: CostModel) -> F64:
        """Expected tokens a second, ``[G, D]``; -inf where acceptance is unknown."""
        context = rows * self._config.profile_seq_len
        reads = rows * self._reads
        load = Load(rows, context, reads if cost.extend_windowed else context, reads)
        tokens = 1.0 + np.cumsum(self._rates(groups), axis=1)[:, self.depths - 1]
        score = tokens / cost.seconds(load, self.depths)
        return np.where(np.isnan(score), -np.inf, score)

    def _rates(self, groups: npt.NDArray[Any]) -> F64:
        """Mean share by position, ``[G, K]``; NaN where nothing tells it."""
        seen = self._state["seen"][groups]
        rates: F64 = self._state["total"][groups] / np.clip(seen, 1, self._config.window_size)
        rates[:, :1][seen[:, :1] == 0] = np.nan
        for k in np.flatnonzero((seen[:, 1:] == 0).any(axis=0)) + 1:
            first, last = np.where(rates[:, 0] > 0, rates[:, 0], np.nan), rates[:, k - 1]
            guess = last * (last / first) ** (1.0 / (k - 1)) if k > 1 else last
            rates[:, k] = np.where(seen[:, k] == 0, guess, rates[:, k])
        return rates

    def _switch(self, groups: npt.NDArray[Any], score: F64) -> None:
        state, every = self._state, np.arange(len(groups))
        rung, best = state["rung"][groups], score.argmax(axis=1)
        better = score[every, best] > score[every, rung] * (1.0 + self._config.switch_hysteresis)
        new = np.where(better, best, rung)
        state["rung"][groups] = new
        reason = np.where(new > rung, Reason.DEEPEN, np.where(new < rung, Reason.SHALLOWER, Reason.HOLD))
        state["reason"][groups] = reason
        self._clear_above(groups[new < rung], self.depths[new[new < rung]])

    def _clear_above(self, groups: npt.NDArray[Any], depth: npt.NDArray[Any]) -> None:
        """Forget what was seen at positions the new depth does not reach."""
        which, position = np.nonzero(self._positions >= depth[:, None])
        self._state["seen"][groups[which], position] = 0
        self._state["total"][groups[which], position] = 0.0

    def observe(self, result: RoundResult) -> None:
        """Push every group's share of rows that accepted more than k, for each k below the depth it ran."""
        view, state, window = result.rows, self._state, self._config.window_size
        state.reserve(view.groups)
        state["rounds"][view.groups] += 1
        more = (result.accepted[:, None] > self._positions).astype(np.float32)
        shares = view.sum(more) / view.rows_per_group[:, None].astype(np.float32)
        which, k = np.nonzero(self._positions < result.depth[view.starts][:, None])
        who, new = view.groups[which], shares[which, k]
        seen = state["seen"][who, k]
        at = seen % window
        state["total"][who, k] += new - np.where(seen >= window, state["share"][who, k, at], np.float32(0))
        state["share"][who, k, at] = new
        state["seen"][who, k] = seen + 1

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Nothing is kept by request."""

    def state_dict(self) -> dict[str, Any]:
        """Depth, timer and windows by group."""
        return {"version": 1, "groups": self._state.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""
        self._state.load_state(state["groups"])
