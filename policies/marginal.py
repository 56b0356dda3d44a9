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


#: Probes that can be saved up for a follow-up.
PROBES_SAVED = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalConfig:
    """Parameters of :class:`Marginal`.

    ``switch_cost`` is the price of a change of depth, in rounds: a better depth is taken once the throughput given up by
    waiting adds up to it (ski rental), so a large advantage moves at once and a small one has to last.
    ``exit_cost`` is the same for going to depth 0: dearer, because nothing is learned there.
    ``probe_budget`` is the share of time spent, at depth 0, on finding out whether drafting pays again: two thirds go to
    regular probes, the rest is saved for following up a probe that was accepted. The first waits are shorter and
    double, so a short lull costs little. ``wake_below``: drafting resumes once accepted probes in a row were this unlikely.
    """

    switch_cost: float = 0.05
    exit_cost: float = 0.2
    probe_budget: float = 0.018
    wake_below: float = 0.01
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
        self._groups = GroupState(depth=candidates.start_index, regret=0.0, idle=0, wait=1, saved=0.0, likely=1.0, doubt=1.0)
        self._switch_cost = np.full(len(self._depths), config.switch_cost)
        if self._zero:
            self._switch_cost[0] = config.exit_cost

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
            self._probe(batch, estimates.survival, chosen, reason, seconds)
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
        stay = (best == current) | (regret < self._switch_cost[best])
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

    def _probe(
        self,
        batch: BatchView,
        survival: npt.NDArray[Any],
        chosen: I64,
        reason: npt.NDArray[np.uint8],
        seconds: F64,
    ) -> None:
        """At depth 0 draft the shallowest chain now and then, as often as the budget allows; wake on surprise."""
        asleep = np.flatnonzero(chosen == 0)
        if not len(asleep):
            return
        state, who = self._groups, batch.groups[asleep]
        due = self._due(who, reason[asleep] == Reason.EXIT, seconds[asleep, 0, 1] / seconds[asleep, 0, 0] - 1.0)
        none = batch.sum(np.log1p(-survival[:, 0, 0].astype(np.float64).clip(0.0, 0.999)))
        state["likely"][who[due]] = -np.expm1(none[asleep[due]])
        chosen[asleep[due]] = 1
        reason[asleep[due]] = Reason.PROBE
        woken = state["doubt"][who] < self._config.wake_below
        chosen[asleep[woken]] = state["depth"][who[woken]] = max(self._candidates.start_index, 1)
        reason[asleep[woken]] = Reason.WAKE
        state["doubt"][who[woken]] = 1.0

    def _due(self, who: npt.NDArray[Any], fresh: npt.NDArray[np.bool_], extra: F64) -> npt.NDArray[np.bool_]:
        """Which sleeping groups probe now; ``extra`` is a probe's time over plain decoding, as a share of it."""
        state, budget = self._groups, self._config.probe_budget
        state["likely"][who[fresh]] = state["doubt"][who[fresh]] = 1.0  # rounds under way are no probes
        longest = np.clip(extra / (budget * 2 / 3), 1, self._config.probe_wait_max)
        idle = np.where(fresh, 0, state["idle"][who] + 1)
        wait = np.minimum(np.where(fresh, 1, state["wait"][who]), longest)
        saved = np.minimum(state["saved"][who] + budget / 3, PROBES_SAVED * extra)
        regular = idle >= wait
        follow = (state["doubt"][who] < 1.0) & (saved >= extra) & ~regular
        due = regular | follow
        state["idle"][who], state["wait"][who] = np.where(due, 0, idle), np.where(regular, 2 * wait, wait)
        state["saved"][who] = saved - np.where(follow, extra, 0.0)
        return due

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
        """Note how unlikely it was that a group's last drafts were accepted."""
        if not self._zero:
            return
        view = result.rows
        drafted, accepted = view.sum(result.depth.astype(np.int64)), view.sum(result.accepted.astype(np.int64))
        self._groups.reserve(view.groups)
        tried, doubt = view.groups[drafted > 0], self._groups["doubt"]
        doubt[tried] = np.where(accepted[drafted > 0] > 0, doubt[tried] * self._groups["likely"][tried], 1.0)

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Nothing is kept by request."""

    def state_dict(self) -> dict[str, Any]:
        """Depth, regret and probe timers by group."""
        return {"version": 1, "groups": self._groups.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""
        self._groups.load_state(state["groups"])
