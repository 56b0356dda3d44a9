"""``marginal``: expected tokens against seconds, over every depth and window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.group_state import GroupState
from adaptive_depth.policies.registry import register
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Load, Plan, Reason, RoundResult

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalConfig:
    """Parameters of :class:`Marginal`.

    ``switch_cost`` is the price of a change of depth, in rounds: a better depth is taken once the throughput given up by
    waiting adds up to it (ski rental), so a large advantage moves at once and a small one has to last.
    ``probe_budget`` is the share of throughput spent on finding out, at depth 0, whether drafting pays again.
    """

    switch_cost: float = 0.05
    probe_budget: float = 0.01
    probe_wait_min: int = 4
    probe_wait_max: int = 256

    def __post_init__(self) -> None:
        if not 0.0 <= self.switch_cost <= 100.0:
            raise ValueError(f"switch_cost must be in [0, 100], got {self.switch_cost}")
        if not 0.0 < self.probe_budget <= 1.0:
            raise ValueError(f"probe_budget must be in (0, 1], got {self.probe_budget}")
        if not 1 <= self.probe_wait_min <= self.probe_wait_max:
            raise ValueError("probe_wait_min must be at least 1 and at most probe_wait_max")


@register("marginal", MarginalConfig)
class Marginal:
    """Maximise Σ E_i(k, w_i) / T over every (k, w); the last draft worth taking is the one whose gain pays its time.

    E_i is 1 + Σ_{j<=k} S_j. All candidates are evaluated: a staircase in T (graph buckets, tiles) makes the ratio
    non-convex, so a greedy walk would stop early. With several requests in a group the depth is chosen at the best
    common window, then every request takes the window that gains most at that rate (one Dinkelbach step).
    """

    uses_survival = True
    learns = True

    def __init__(self, config: MarginalConfig, candidates: Candidates) -> None:
        self._config, self._candidates = config, candidates
        self._depths = candidates.depth_array
        self._zero = candidates.depths[0] == 0 and len(candidates.depths) > 1
        self._groups = GroupState(
            depth=candidates.start_index, regret=0.0, idle=0, wait=config.probe_wait_min
        )

    def plan(self, batch: BatchView, estimates: Estimates) -> Plan:
        """Choose depth per group and window per row."""
        self._groups.reserve(batch.groups)
        reads = self._candidates.reads(batch.context)
        tokens = self._expected_tokens(estimates.survival)
        seconds = estimates.cost.seconds(self._load(batch, estimates, reads), self._depths)
        rate = batch.sum(tokens) / seconds
        best_rate = rate.max(axis=1) if rate.shape[1] > 1 else rate[:, 0]
        chosen, reason = self._choose(batch.groups, best_rate)
        if self._zero:
            self._probe(batch.groups, chosen, reason, seconds)
        window = self._windows(batch, estimates, reads, tokens, seconds, rate, chosen)
        return Plan(self._depths[chosen], window, reason)

    def _expected_tokens(self, survival: npt.NDArray[Any]) -> F64:
        """Tokens a round is expected to commit, ``[R, W, D]``."""
        upto = np.ones((*survival.shape[:2], survival.shape[2] + 1), np.float32)
        np.add.accumulate(survival, axis=-1, out=upto[..., 1:])
        upto[..., 1:] += np.float32(1.0)
        return upto if upto.shape[2] == len(self._depths) else upto[..., self._depths]

    def _load(self, batch: BatchView, estimates: Estimates, reads: F64) -> Load:
        """The groups' load at every common window, ``[G, W]``."""
        rows, context = batch.rows_per_group[:, None], batch.sum(batch.context)[:, None]
        total = batch.sum(reads)
        return Load(rows, context, total if estimates.cost.extend_windowed else context, total)

    def _choose(self, groups: npt.NDArray[Any], rate: F64) -> tuple[I64, npt.NDArray[np.uint8]]:
        """Index of the depth to run and why, ``[G]``; keeps the depth until the regret of staying is paid."""
        state, every = self._groups, np.arange(len(groups))
        current, best = state["depth"][groups], rate.argmax(axis=1)
        regret = state["regret"][groups] + rate[every, best] / rate[every, current] - 1.0
        stay = (best == current) | (regret < self._config.switch_cost)
        chosen = np.where(stay, current, best)
        regret[best == chosen] = 0.0
        state["depth"][groups], state["regret"][groups] = chosen, regret
        return chosen, self._reasons(current, chosen)

    def _reasons(self, current: I64, chosen: I64) -> npt.NDArray[np.uint8]:
        reason = np.full(len(chosen), Reason.HOLD, np.uint8)
        reason[chosen > current] = Reason.DEEPEN
        reason[chosen < current] = Reason.SHALLOWER
        if self._zero:
            reason[(chosen == 0) & (current > 0)] = Reason.EXIT
        return reason

    def _probe(self, groups: npt.NDArray[Any], chosen: I64, reason: npt.NDArray[np.uint8], seconds: F64) -> None:
        """At depth 0 draft the shallowest chain now and then; the wait doubles up to what the budget allows."""
        asleep = np.flatnonzero(chosen == 0)
        if not len(asleep):
            return
        state, cfg, who = self._groups, self._config, groups[asleep]
        state["idle"][who] += 1
        due = state["idle"][who] >= state["wait"][who]
        extra = seconds[asleep, 0, 1] / seconds[asleep, 0, 0] - 1.0
        longest = np.clip(extra / cfg.probe_budget, cfg.probe_wait_min, cfg.probe_wait_max).astype(np.int64)
        awake = who[due]
        state["idle"][awake] = 0
        state["wait"][awake] = np.minimum(2 * state["wait"][awake], longest[due])
        chosen[asleep[due]] = 1
        reason[asleep[due]] = Reason.PROBE

    def _windows(
        self,
        batch: BatchView,
        estimates: Estimates,
        reads: F64,
        tokens: F64,
        seconds: F64,
        rate: F64,
        chosen: I64,
    ) -> npt.NDArray[np.int32]:
        """Every row's window at its group's depth, i32[R]."""
        windows = self._candidates.window_array
        if len(windows) == 1:
            return np.full(len(batch.slot), windows[0], np.int32)
        group = np.arange(len(chosen))
        common = rate[group, :, chosen].argmax(axis=1)
        if batch.one_row_each:
            return windows[common]
        value = rate[group, common, chosen]
        index, row = batch.group_index, np.arange(len(batch.slot))
        swap = reads - reads[row, common[index]][:, None]
        context, total = batch.sum(batch.context)[index, None], batch.sum(reads)[group, common][index, None]
        extend = total + swap if estimates.cost.extend_windowed else np.broadcast_to(context, swap.shape)
        load = Load(batch.rows_per_group[index, None], context, extend, total + swap)
        mine = estimates.cost.seconds(load, self._depths)[row, :, chosen[index]]
        gain = tokens[row, :, chosen[index]] - value[index, None] * mine
        return windows[gain.argmax(axis=1)]

    def observe(self, result: RoundResult) -> None:
        """An accepted probe shortens the wait for the next one."""
        if not self._zero:
            return
        view = result.rows
        accepted = view.sum(result.accepted.astype(np.int64)) > 0
        woken = view.groups[accepted]
        self._groups.reserve(view.groups)
        self._groups["wait"][woken] = 1

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Nothing is kept by request."""

    def state_dict(self) -> dict[str, Any]:
        """Depth, regret and probe timers by group."""
        return {"version": 1, "groups": self._groups.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""
        self._groups.load_state(state["groups"])
