"""The only thing the server and the simulator call: plan before a round, observe after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from adaptive_depth.controller.acceptance import SurvivalEstimator
from adaptive_depth.policies.cost_model import CostModel, Load
from adaptive_depth.policies.registry import Policy
from adaptive_depth.policies.types import (
    BatchView,
    Candidates,
    Estimates,
    Plan,
    Reason,
    RoundResult,
    joined,
)

#: Plans whose feedback is awaited; an older one is taken as lost. Lag is at most 3 rounds, aborts lose some.
PENDING_PLANS = 64
#: Rows planned together, so that what they need stays in a core's cache: a wide replay is twice as fast.
ROWS_TOGETHER = 2048
NO_SURVIVAL = np.empty((0, 0, 0), np.float32)

T = TypeVar("T")


class CostSource(Protocol):
    """Where the cost model comes from: fixed, or learned from measured rounds."""

    @property
    def learns(self) -> bool:
        """False where ``observe`` does nothing, so that the caller need not prepare samples."""

    @property
    def cost(self) -> CostModel:
        """The model to plan with now."""

    def observe(self, load: Load, depth: npt.NDArray[Any], seconds: npt.NDArray[Any]) -> None:
        """Take measured rounds, one a group; NaN seconds are no sample."""

    def state_dict(self) -> dict[str, Any]:
        """What was learned, as plain arrays."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""


@dataclass(frozen=True, slots=True)
class FixedCost:
    """A cost model that never learns: a preset, a table, a fit."""

    cost: CostModel
    learns: bool = False

    def observe(self, load: Load, depth: npt.NDArray[Any], seconds: npt.NDArray[Any]) -> None:
        """Nothing to learn."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing was learned."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters since the start."""

    plans: int
    observed: int
    #: Results whose plan is not awaited: doubled, or too old.
    unknown_results: int
    #: Rows whose slot has been forgotten since the plan: finished, retracted, re-used.
    stale_rows: int
    failures: int
    disabled: bool
    forced_depth: int | None
    last_error: str


class DepthController:
    """Turns batches into plans and outcomes into estimates; never raises into the decode loop.

    Every plan gets a rising ``plan_id``. Feedback is taken once per plan, however late, and only for rows
    whose slot has not been forgotten since. On any internal error the static plan (start depth and window) is
    served and the error counted; after ``max_failures`` the controller stays static. ``strict`` raises
    instead: a simulation that quietly went static would be a lie.

    >>> from adaptive_depth.controller.build import build_controller
    >>> controller = build_controller("static:2")
    >>> one = np.zeros(1, np.int32)
    >>> controller.plan(BatchView(one, one, np.array([100]), np.array([0]))).depth.tolist()
    [2]
    """

    def __init__(
        self,
        candidates: Candidates,
        rule: Policy,
        estimator: SurvivalEstimator | None,
        cost: CostSource,
        *,
        strict: bool = False,
        max_failures: int = 8,
    ) -> None:
        self.candidates, self.rule = candidates, rule
        self._estimator, self._cost = estimator, cost
        self._strict, self._max_failures = strict, max_failures
        self._next_id = 0
        self._pending: dict[int, None] = {}
        self._born = np.zeros(64, np.int64)
        self._allowed_depth = np.isin(np.arange(128), candidates.depth_array)
        self._observed = self._unknown = self._stale = self._failures = 0
        self._last_error = ""
        self._forced: int | None = None
        self._enabled = True

    def plan(self, batch: BatchView) -> Plan:
        """The plan of the next round; static after a failure, while disabled, or for an empty batch."""
        plan_id, self._next_id = self._next_id, self._next_id + 1
        plan = self._guard(lambda: self._decide(batch)) if self._active else None
        if plan is None:
            plan = self._static(batch)
        plan.plan_id = plan_id
        self._pending[plan_id] = None
        if len(self._pending) > PENDING_PLANS:
            del self._pending[next(iter(self._pending))]
        return plan

    def observe(self, result: RoundResult) -> None:
        """Learn from a round; results of unknown plans and rows of forgotten slots are counted, not used."""
        if result.plan_id not in self._pending:
            self._unknown += 1
            return
        del self._pending[result.plan_id]
        if self._failures < self._max_failures:
            self._guard(lambda: self._learn(result))

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """These slots' requests are gone (finished, aborted, retracted); late feedback is a stranger's."""
        slots = np.asarray(slots, np.intp)
        if not len(slots):
            return
        self._reserve(slots)
        self._born[slots] = self._next_id
        if self._estimator is not None:
            self._estimator.forget(slots)
        self.rule.forget(slots)

    @property
    def learns(self) -> bool:
        """False where feedback changes nothing (a static rule at a fixed cost); it may then be spared."""
        return self._estimator is not None or self.rule.learns or self._cost.learns

    def force(self, depth: int | None) -> None:
        """Pin every group to a candidate depth, or release it with ``None``; ValueError for no candidate."""
        if depth is not None and depth not in self.candidates.depths:
            raise ValueError(f"depth {depth} is not among the candidates {self.candidates.depths}")
        self._forced = depth

    def enable(self, on: bool) -> None:
        """Turn adapting on or off; off serves the static plan. Turning on clears past failures."""
        self._enabled = on
        if on:
            self._failures = 0

    def snapshot(self) -> Snapshot:
        """Counters since the start."""
        return Snapshot(
            plans=self._next_id,
            observed=self._observed,
            unknown_results=self._unknown,
            stale_rows=self._stale,
            failures=self._failures,
            disabled=not self._active,
            forced_depth=self._forced,
            last_error=self._last_error,
        )

    def state_dict(self) -> dict[str, Any]:
        """Everything learned, as plain arrays; version 1."""
        estimator = None if self._estimator is None else self._estimator.state_dict()
        return {
            "version": 1,
            "rule": self.rule.state_dict(),
            "estimator": estimator,
            "cost": self._cost.state_dict(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value; ValueError where it does not fit."""
        if state.get("version") != 1:
            raise ValueError(f"controller state has version {state.get('version')}, expected 1")
        self.rule.load_state(state["rule"])
        self._cost.load_state(state["cost"])
        if self._estimator is not None:
            self._estimator.load_state(state["estimator"])

    @property
    def _active(self) -> bool:
        return self._enabled and self._failures < self._max_failures

    def _decide(self, batch: BatchView) -> Plan:
        if not batch.one_row_each or len(batch.slot) <= ROWS_TOGETHER:
            return self._decide_part(batch)
        return joined([self._decide_part(part) for part in batch.parts(ROWS_TOGETHER)])

    def _decide_part(self, batch: BatchView) -> Plan:
        plan = self.rule.plan(batch, self._estimates(batch))
        self._check(plan, batch)
        if self._estimator is not None and plan.woken is not None:
            self._estimator.forget(batch.slot[batch.spread(plan.woken)])
        if self._forced is not None:
            plan.depth = np.full_like(plan.depth, self._forced)
            plan.reason = np.full_like(plan.reason, Reason.FORCED)
        return plan

    def _estimates(self, batch: BatchView) -> Estimates:
        estimator, cost = self._estimator, self._cost.cost
        if estimator is None:
            return Estimates(NO_SURVIVAL, cost)
        return Estimates(estimator.survival(batch), cost, estimator.window_bonus(batch))

    def _check(self, plan: Plan, batch: BatchView) -> None:
        """ValueError for a depth that is no tier, a window that is no candidate, or too few or many."""
        if len(plan.depth) != len(batch.groups) or len(plan.window) != len(batch.slot):
            raise ValueError("rule planned another number of groups or rows than it was asked for")
        if np.count_nonzero(self._allowed_depth.take(plan.depth)) < len(plan.depth):
            raise ValueError(f"rule planned a depth that is no tier: {plan.depth[:8]}")
        windows = self.candidates.windows
        known = plan.window == windows[0]
        for window in windows[1:]:
            known |= plan.window == window
        if np.count_nonzero(known) < len(known):
            raise ValueError(f"rule planned a window that is no candidate: {plan.window[:8]}")

    def _learn(self, result: RoundResult) -> None:
        # As unsigned bytes a negative count is above every depth.
        if np.count_nonzero(result.accepted.view(np.uint8) > result.depth.view(np.uint8)):
            raise ValueError("a result accepts more than it drafted, or less than nothing")
        if self._cost.learns:
            load = group_load(result.rows, self.candidates.sink, result.window, self._cost.cost)
            self._cost.observe(load, result.rows.first(result.depth), result.seconds)
        fresh = self._fresh(result)
        if fresh is not None:
            self._observed += 1
            if self._estimator is not None:
                self._estimator.observe(fresh)
            self.rule.observe(fresh)

    def _fresh(self, result: RoundResult) -> RoundResult | None:
        """The rows whose slot was not forgotten after the plan; ``None`` if there are none."""
        try:
            alive = self._born.take(result.slot) <= result.plan_id
        except IndexError:
            self._reserve(result.slot)
            alive = self._born.take(result.slot) <= result.plan_id
        if np.count_nonzero(alive) == len(alive):
            return result if len(alive) else None
        self._stale += int((~alive).sum())
        if not alive.any():
            return None
        kept = alive if result.one_row_each else np.bincount(result.rows.group_index, alive) > 0
        return RoundResult(
            result.plan_id,
            result.slot[alive],
            result.group[alive],
            result.context[alive],
            result.depth[alive],
            result.window[alive],
            result.accepted[alive],
            result.seconds[kept],
            one_row_each=result.one_row_each,
        )

    def _reserve(self, slots: npt.NDArray[Any]) -> None:
        """Make room for the births of these slots; a slot never forgotten was born before every plan."""
        missing = int(slots.max(initial=-1)) + 1 - len(self._born)
        if missing > 0:
            self._born = np.concatenate([self._born, np.zeros(missing + len(self._born), np.int64)])

    def _static(self, batch: BatchView) -> Plan:
        candidates, groups = self.candidates, len(batch.groups)
        depth = candidates.start_depth if self._forced is None else self._forced
        reason = Reason.FALLBACK if self._forced is None else Reason.FORCED
        return Plan(
            np.full(groups, depth, np.int8),
            np.full(len(batch.slot), candidates.start_window, np.int32),
            np.full(groups, reason, np.uint8),
        )

    def _guard(self, step: Callable[[], T]) -> T | None:
        """Run ``step``; on any error count it and return ``None``: no fault of ours may end a request."""
        try:
            return step()
        except Exception as error:
            self._failures += 1
            self._last_error = f"{type(error).__name__}: {error}"
            if self._strict:
                raise
            return None


def group_load(view: BatchView, sink: int, window: npt.NDArray[Any], cost: CostModel) -> Load:
    """The load of every group when row r attends ``window[r]`` tokens (0 = all), ``[G]``."""
    context = view.context
    reads = np.where(window > 0, np.minimum(context, window + sink), context)
    total, read = view.sum(context), view.sum(reads)
    return Load(view.rows_per_group, total, read if cost.extend_windowed else total, read)
