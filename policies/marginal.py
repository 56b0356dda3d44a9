"""``marginal``: expected tokens against seconds, over every depth and window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.group_state import GroupState
from adaptive_depth.policies.registry import register
from adaptive_depth.policies.running import running
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Load, Plan, Reason, RoundResult
from adaptive_depth.policies.zero_exit import ZeroExit

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


NO_WINDOW = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalConfig:
    """Parameters of :class:`Marginal`.

    ``switch_cost`` is the price of a change of depth, in rounds: a better depth is taken once the throughput
    given up by waiting adds up to it (ski rental), so a large advantage moves at once and a small one has to
    last. ``exit_cost`` is the same for going to depth 0: dearer, because nothing is learned there.
    ``probe_budget`` is the share of time spent, at depth 0, on finding out whether drafting pays again: two
    thirds go to regular probes, the rest is saved for following up a probe that was accepted. The first waits
    are shorter and double, so a short lull costs little. ``wake_below``: drafting resumes once the probes
    make what is believed this much less likely than good drafts.
    """

    switch_cost: float = 0.04
    exit_cost: float = 0.05
    probe_budget: float = 0.018
    wake_below: float = 0.05
    probe_wait_max: int = 256

    def __post_init__(self) -> None:
        for name in ("switch_cost", "exit_cost"):
            if not 0.0 <= getattr(self, name) <= 100.0:
                raise ValueError(f"{name} must be in [0, 100], got {getattr(self, name)}")
        for name in ("probe_budget", "wake_below"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in (0, 1], got {getattr(self, name)}")
        if not 1 <= self.probe_wait_max <= 1_000_000:
            raise ValueError(f"probe_wait_max must be in [1, 1000000], got {self.probe_wait_max}")


@register("marginal", MarginalConfig)
class Marginal:
    """Maximise Σ E_i(k, w_i) / T over every (k, w): the last draft taken is the last that pays its time.

    E_i is 1 + Σ_{j<=k} S_j. All candidates are evaluated: a staircase in T (graph buckets, tiles) makes the
    ratio non-convex, so a greedy walk would stop early. With several requests in a group the depth is chosen
    at the best common window, then every request takes the window that gains most at that rate (one
    Dinkelbach step).
    """

    uses_survival = True
    learns = True

    def __init__(self, config: MarginalConfig, candidates: Candidates) -> None:
        self._config, self._candidates = config, candidates
        self._depths = candidates.depth_array
        self._last_position = np.maximum(self._depths.astype(np.intp) - 1, 0)
        self._reasons = _reasons(len(self._depths), candidates.depths[0] == 0)
        self._groups = GroupState(depth=candidates.start_index, regret=0.0)
        self._row = np.arange(64)
        self._switch_cost = np.full(len(self._depths), config.switch_cost)
        self._exit: ZeroExit | None = None
        if candidates.depths[0] == 0 and len(candidates.depths) > 1:
            self._switch_cost[0] = config.exit_cost
            self._exit = ZeroExit(config.probe_budget, config.probe_wait_max, config.wake_below)

    def plan(self, batch: BatchView, estimates: Estimates) -> Plan:
        """Choose depth per group and window per row."""
        reads = self._candidates.reads(batch.context)
        tokens = self._expected_tokens(estimates.survival)
        seconds = estimates.cost.seconds(self._load(batch, estimates, reads), self._depths)
        rate = batch.sum(tokens) / seconds
        common = self._common_window(batch, estimates, rate)
        groups = batch.groups
        current, chosen = self._choose(
            groups, rate[:, 0] if rate.shape[1] == 1 else rate[self._row_of(len(common)), common]
        )
        plan = Plan(self._depths.take(chosen), NO_WINDOW, self._reasons[current, chosen])
        if self._exit is not None and np.count_nonzero(chosen) < len(chosen):
            chosen = self._sleep(self._exit, batch, estimates.survival, seconds, current, chosen, plan)
        plan.window = self._windows(batch, estimates, reads, tokens, rate, common, chosen)
        return plan

    def _common_window(self, batch: BatchView, estimates: Estimates, rate: F64) -> I64:
        """Index of the window that is best for a whole group, ``[G]``; little tried ones are given a bonus.

        The doubt decides the window only: a depth chosen on hope would be too deep.
        """
        if rate.shape[1] == 1:
            return np.zeros(len(rate), np.int64)
        top = rate.max(axis=2)
        if estimates.window_bonus is not None:
            top = top * (1.0 + batch.first(estimates.window_bonus))
        common: I64 = top.argmax(axis=1)
        return common

    def _expected_tokens(self, survival: npt.NDArray[Any]) -> F64:
        """Tokens a round is expected to commit, ``[R, W, D]``: 1 + Σ_{j<=k} S_j."""
        tokens = running(np.add, survival).take(self._last_position, axis=-1)
        if self._depths[0] == 0:
            tokens[..., 0] = 0.0
        tokens += np.float32(1.0)
        return tokens

    def _load(self, batch: BatchView, estimates: Estimates, reads: F64) -> Load:
        """The groups' load at every common window, ``[G, W]``."""
        rows, context = batch.rows_per_group[:, None], batch.sum(batch.context)[:, None]
        total = batch.sum(reads)
        return Load(rows, context, total if estimates.cost.extend_windowed else context, total)

    def _choose(self, groups: npt.NDArray[Any], rate: F64) -> tuple[I64, I64]:
        """Index of the depth so far and of the one to run, ``[G]``; stays until staying has cost enough."""
        state = self._groups
        state.reserve(groups)
        current, best = state["depth"].take(groups), rate.argmax(axis=1)
        row = self._row_of(len(groups))
        top = rate[row, best]
        if not np.add.reduce(top) >= 0.0:  # argmax finds a NaN if there is one
            raise ValueError("the expected rate of a round is not a number")
        if not np.count_nonzero(best != current):
            state["regret"][groups] = 0.0
            return current, current.copy()
        regret = state["regret"][groups] + top / rate[row, current] - 1.0
        stay = (best != current) & (regret < self._switch_cost[best])
        chosen = np.where(stay, current, best)
        state["depth"][groups], state["regret"][groups] = chosen, regret * stay
        return current, chosen

    def _row_of(self, groups: int) -> I64:
        """0..G-1, kept from one call to the next."""
        if len(self._row) < groups:
            self._row = np.arange(2 * groups)
        return self._row[:groups]

    def _sleep(
        self,
        way_out: ZeroExit,
        batch: BatchView,
        survival: npt.NDArray[Any],
        seconds: F64,
        current: I64,
        chosen: I64,
        plan: Plan,
    ) -> I64:
        """Let groups at depth 0 probe or wake: changes the plan, returns the depth indices."""
        asleep = (chosen == 0).nonzero()[0]
        who = batch.groups[asleep]
        none = batch.sum(np.log1p(-np.minimum(survival[:, 0, 0], 0.999), dtype=np.float64))
        extra = seconds[asleep, 0, 1] / seconds[asleep, 0, 0] - 1.0
        probing, woken = way_out.decide(who, current[asleep] != 0, -np.expm1(none[asleep]), extra)
        plan.reason[asleep[probing]] = Reason.PROBE
        chosen[asleep[probing]] = 1
        if woken.any():
            plan.woken = np.zeros(len(chosen), bool)
            plan.woken[asleep[woken]] = True
            plan.reason[plan.woken] = Reason.WAKE
            chosen[plan.woken] = self._groups["depth"][who[woken]] = max(self._candidates.start_index, 1)
        plan.depth = self._depths[chosen]
        return chosen

    def _windows(
        self,
        batch: BatchView,
        estimates: Estimates,
        reads: F64,
        tokens: F64,
        rate: F64,
        common: I64,
        chosen: I64,
    ) -> npt.NDArray[np.int32]:
        """Every row's window at its group's depth, i32[R]: the group's, or one that gains this row more."""
        windows = self._candidates.window_array
        if batch.one_row_each:
            own: npt.NDArray[np.int32] = windows[common]
            return own
        if len(windows) == 1:
            return np.full(len(batch.slot), windows[0], np.int32)
        index, row = batch.group_index, np.arange(len(batch.slot))
        swap = reads - reads[row, common[index]][:, None]
        context = batch.sum(batch.context)[index, None]
        total = batch.sum(reads)[np.arange(len(common)), common][index, None] + swap
        extend = total if estimates.cost.extend_windowed else np.broadcast_to(context, swap.shape)
        load = Load(batch.rows_per_group[index, None], context, extend, total)
        mine = estimates.cost.seconds(load, self._depths)[row, :, chosen[index]]
        hope = 0.0 if estimates.window_bonus is None else estimates.window_bonus
        value = rate[np.arange(len(common)), common, chosen][index, None]
        gain = tokens[row, :, chosen[index]] * (1.0 + hope) - value * mine
        best: npt.NDArray[np.int32] = windows[gain.argmax(axis=1)]
        return best

    def observe(self, result: RoundResult) -> None:
        """Take note of probes."""
        if self._exit is None:
            return
        view = result.rows
        groups = view.groups
        self._groups.reserve(groups)
        depth = self._groups["depth"][groups]
        if np.count_nonzero(depth) == len(depth):
            return
        probed = (depth == 0) & (view.first(result.depth) > 0)
        self._exit.observe(groups[probed], view.sum(result.accepted.astype(np.int64))[probed] > 0)

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Nothing is kept by request."""

    def state_dict(self) -> dict[str, Any]:
        """Depth and regret by group, and the timers of depth 0."""
        asleep = None if self._exit is None else self._exit.state_dict()
        return {"version": 1, "groups": self._groups.state_dict(), "exit": asleep}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""
        self._groups.load_state(state["groups"])
        if self._exit is not None:
            self._exit.load_state(state["exit"])


def _reasons(depths: int, zero: bool) -> npt.NDArray[np.uint8]:
    """Reason of going from one depth index to another, u8[D, D]."""
    step = np.sign(np.arange(depths) - np.arange(depths)[:, None])
    table: npt.NDArray[np.uint8] = np.array([Reason.HOLD, Reason.DEEPEN, Reason.SHALLOWER], np.uint8)[step]
    if zero:
        table[1:, 0] = Reason.EXIT
    return table
