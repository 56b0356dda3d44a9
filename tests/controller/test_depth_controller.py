"""The controller serves a legal plan whatever happens, and learns from every result once."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.controller.acceptance import AcceptanceEstimator
from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.depth_controller import PENDING_PLANS, DepthController, FixedCost, group_load
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.registry import make_config, make_policy
from adaptive_depth.policies.types import BatchView, Candidates, Plan, Reason, RoundResult

CANDIDATES = Candidates(windows=(4032, 0), sink=64, start_window=4032)


class Scripted:
    """A rule that plans what it is told to, or raises it, and notes what it observes."""

    uses_survival = False
    learns = True

    def __init__(self, depth=5, window=0):
        self.depth, self.window, self.fault, self.calls = depth, window, None, 0
        self.observed, self.forgotten = [], []

    def plan(self, batch, estimates):
        self.calls += 1
        if self.fault:
            raise self.fault
        groups = len(batch.groups)
        reason = np.full(groups, Reason.HOLD, np.uint8)
        return Plan(
            np.full(groups, self.depth, np.int8), np.full(len(batch.slot), self.window, np.int32), reason
        )

    def observe(self, result):
        self.calls += 1
        if self.fault:
            raise self.fault
        self.observed.append(result)

    def forget(self, slots):
        self.forgotten.append(slots.tolist())

    def state_dict(self):
        return {"version": 1}

    def load_state(self, state):
        pass


class Nonsense:
    """An estimator that lost count."""

    def survival(self, batch):
        curve = np.full((len(batch.slot), 2, 7), 0.5, np.float32)
        curve[-1, 1, 3:] = np.nan
        return curve

    def window_bonus(self, batch):
        return None

    def observe(self, result):
        pass

    def forget(self, slots):
        pass


def build(rule=None, estimator=None, **options) -> DepthController:
    return DepthController(
        CANDIDATES, rule or Scripted(), estimator, FixedCost(preset("q35-b200")), **options
    )


def batch(groups=(0, 0, 1)) -> BatchView:
    group = np.array(groups, np.int32)
    return BatchView(np.arange(len(group), dtype=np.int32), group, *(np.full(len(group), 5000),) * 2)


def result(plan: Plan, view: BatchView, accepted=1, depth=None) -> RoundResult:
    depths = plan.row_depth(view) if depth is None else np.full(len(view.slot), depth, np.int8)
    taken = np.full(len(view.slot), accepted, np.int8)
    nothing = np.full(len(view.groups), np.nan)
    return RoundResult(plan.plan_id, view.slot, view.group, view.context, depths, plan.window, taken, nothing)


def is_static(plan: Plan) -> bool:
    rows = (plan.window == CANDIDATES.start_window).all() and (plan.depth == CANDIDATES.start_depth).all()
    return bool(rows and (plan.reason == Reason.FALLBACK).all())


def break_plan(rule: Scripted, how: str) -> None:
    match how:
        case "raises":
            rule.fault = KeyError("lost")
        case "depth that is no tier":
            rule.depth = 4
        case "negative depth":
            rule.depth = -1
        case "window that is no candidate":
            rule.window = 100


@pytest.mark.parametrize(
    "how", ["raises", "depth that is no tier", "negative depth", "window that is no candidate"]
)
def test_a_bad_rule_gives_the_static_plan(how):
    """Start depth and window for every group and row; the error is counted and told. Strict raises it."""
    for strict in (False, True):
        controller = build(strict=strict)
        break_plan(controller.rule, how)
        if strict:
            with pytest.raises((KeyError, ValueError)):
                controller.plan(batch())
            continue
        plan = controller.plan(batch())
        assert is_static(plan) and len(plan.depth) == 2 and len(plan.window) == 3
        snapshot = controller.snapshot()
        assert snapshot.failures == 1 and not snapshot.disabled
        assert snapshot.last_error.startswith(("KeyError: 'lost'", "ValueError: rule planned a"))


def test_a_plan_of_another_size_gives_the_static_plan():
    """A rule that answers for other groups than it was asked about is not trusted."""
    controller = build()
    controller.rule.plan = lambda view, estimates: Scripted().plan.__func__(
        Scripted(), batch((0,)), estimates
    )
    assert is_static(controller.plan(batch()))
    assert "another number" in controller.snapshot().last_error


def test_survival_that_is_no_number_gives_the_static_plan():
    """One NaN in one row: nothing is decided on it."""
    controller = build(
        rule=make_policy("marginal", make_config("marginal", {}), CANDIDATES), estimator=Nonsense()
    )
    assert is_static(controller.plan(batch()))
    assert "not a number" in controller.snapshot().last_error


def test_after_enough_failures_the_rule_is_left_alone_until_turned_on_again():
    """Static without asking; turning on clears the past."""
    controller = build(max_failures=3)
    controller.rule.fault = RuntimeError("broken")
    for _ in range(10):
        assert is_static(controller.plan(batch()))
    assert controller.rule.calls == 3
    assert controller.snapshot().disabled and controller.snapshot().failures == 3
    controller.rule.fault = None
    controller.enable(True)
    assert controller.plan(batch()).depth.tolist() == [5, 5]
    assert not controller.snapshot().disabled


def test_a_fault_while_learning_is_counted_and_not_raised():
    """The next plan is asked of the rule all the same."""
    controller, view = build(), batch()
    plan = controller.plan(view)
    controller.rule.fault = RuntimeError("broken")
    controller.observe(result(plan, view))
    controller.rule.fault = None
    assert controller.snapshot().failures == 1
    assert controller.plan(view).depth.tolist() == [5, 5]


def test_turned_off_serves_the_static_plan():
    """Neither a fault nor a loss of what was learned."""
    controller = build()
    controller.enable(False)
    assert is_static(controller.plan(batch())) and controller.rule.calls == 0
    assert controller.snapshot().disabled and controller.snapshot().failures == 0
    controller.enable(True)
    assert controller.plan(batch()).depth.tolist() == [5, 5]


@pytest.mark.parametrize("turned_off", [False, True])
def test_a_forced_depth_holds_for_every_group_until_released(turned_off):
    """Adapting or not; the rule's windows stay, and only a candidate can be forced."""
    controller = build()
    controller.enable(not turned_off)
    controller.force(0)
    plan = controller.plan(batch())
    assert plan.depth.tolist() == [0, 0] and plan.reason.tolist() == [Reason.FORCED] * 2
    assert plan.window.tolist() == [4032 if turned_off else 0] * 3
    assert controller.snapshot().forced_depth == 0
    with pytest.raises(ValueError, match="depth 4"):
        controller.force(4)
    controller.force(None)
    assert controller.plan(batch()).depth.tolist() == ([3, 3] if turned_off else [5, 5])


def test_plan_ids_rise_and_a_result_counts_once():
    """A doubled result, and one of a plan never made, are counted and dropped."""
    controller, view = build(), batch()
    plans = [controller.plan(view) for _ in range(3)]
    assert [plan.plan_id for plan in plans] == [0, 1, 2]
    for plan in (plans[2], plans[0], plans[0]):
        controller.observe(result(plan, view))
    controller.observe(result(Plan(*(np.zeros(0),) * 3, plan_id=77), batch(())))
    snapshot = controller.snapshot()
    assert (snapshot.plans, snapshot.observed, snapshot.unknown_results) == (3, 2, 2)
    assert [seen.plan_id for seen in controller.rule.observed] == [2, 0]


def test_results_awaited_are_bounded():
    """What is older than the last 64 plans is taken as lost."""
    controller, view = build(), batch()
    plans = [controller.plan(view) for _ in range(1000)]
    controller.observe(result(plans[-PENDING_PLANS - 1], view))
    assert controller.snapshot().unknown_results == 1
    controller.observe(result(plans[-PENDING_PLANS], view))
    assert controller.snapshot().observed == 1
    assert len(controller._pending) == PENDING_PLANS - 1


def test_rows_of_a_slot_forgotten_since_the_plan_are_a_strangers():
    """Dropped and counted; the others' rows, groups and seconds stay together."""
    controller, view = build(), batch((0, 0, 1, 2))
    plan = controller.plan(view)
    outcome = result(plan, view)
    outcome.seconds = np.array([0.1, 0.2, 0.3])
    controller.forget(np.array([0, 2]))
    controller.observe(outcome)
    seen = controller.rule.observed[0]
    assert seen.slot.tolist() == [1, 3] and seen.group.tolist() == [0, 2]
    assert seen.seconds.tolist() == [0.1, 0.3]
    assert controller.snapshot().stale_rows == 2
    again = controller.plan(view)
    controller.observe(result(again, view))
    assert controller.rule.observed[1].slot.tolist() == [0, 1, 2, 3]
    assert controller.rule.forgotten == [[0, 2]]
    late = controller.plan(view)
    controller.forget(np.array([3]))
    controller.observe(result(late, view))
    assert controller.snapshot().stale_rows == 3


def test_a_result_of_strangers_alone_teaches_nothing():
    """Every request of the round is gone."""
    controller, view = build(), batch((4, 4))
    plan = controller.plan(view)
    controller.forget(np.arange(2))
    controller.observe(result(plan, view))
    assert controller.rule.observed == [] and controller.snapshot().observed == 0


def test_a_reused_slot_starts_afresh():
    """The next request in the slot is at the pool's level; the old one's late result does not reach it."""
    estimator = AcceptanceEstimator(CANDIDATES)
    controller, view = build(estimator=estimator), batch((0, 1, 2))
    for _ in range(80):
        plan = controller.plan(view)
        outcome = result(plan, view, accepted=5)
        outcome.accepted[0] = 0
        controller.observe(outcome)
    late = controller.plan(view)
    assert estimator.survival(view)[0, 0, 0] < 0.5
    controller.forget(np.array([0]))
    stranger = estimator.survival(batch((0,) * 100))[99]
    controller.observe(result(late, view, accepted=0))
    survival = estimator.survival(view)
    assert np.abs(survival[0] - stranger).max() < 0.05 and survival[0, 0, 0] > 0.5


def test_feedback_is_credited_to_the_depth_that_ran():
    """Planned at 1, run at 5: what is learned is that of a round of depth 5, not of 1."""
    told = AcceptanceEstimator(CANDIDATES)
    controller, view = build(Scripted(depth=1), told), batch()
    reference = AcceptanceEstimator(CANDIDATES)
    for _ in range(30):
        plan = controller.plan(view)
        controller.observe(result(plan, view, accepted=3, depth=5))
        reference.observe(result(plan, view, accepted=3, depth=5))
    assert np.array_equal(told.survival(view), reference.survival(view))
    curve = told.survival(view)[0, 1]
    assert curve[2] > 0.8 and curve[3] < 0.4


@pytest.mark.parametrize("bad", [{"accepted": 6}, {"accepted": -1}], ids=str)
def test_a_result_that_cannot_be_is_a_fault(bad):
    """More accepted than drafted, or less than nothing, is refused before anything learns from it."""
    controller, view = build(), batch()
    controller.observe(result(controller.plan(view), view, **bad))
    assert controller.snapshot().failures == 1 and controller.rule.observed == []


def test_an_empty_batch_has_an_empty_plan():
    """No request, no fault."""
    for name in ("marginal", "static"):
        controller = build_controller(name, strict=True)
        plan = controller.plan(batch(()))
        assert len(plan.depth) == len(plan.window) == 0
        controller.observe(result(plan, batch(())))


def test_state_of_another_version_is_refused():
    """ValueError, and a state without one as well."""
    controller = build()
    for state in ({}, {**controller.state_dict(), "version": 2}):
        with pytest.raises(ValueError, match="version"):
            controller.load_state(state)


def test_load_of_a_group_sums_what_each_row_reads():
    """A windowed row reads sink and window, or its whole context where that is shorter."""
    view = batch((0, 0, 1))
    view.context = np.array([100, 10_000, 50_000])
    window = np.array([4032, 4032, 0])
    load = group_load(view, 64, window, preset("q35-b200"))
    assert load.rows.tolist() == [2, 1] and load.context.tolist() == [10_100, 50_000]
    assert load.reads.tolist() == [4196, 50_000] == load.extend.tolist()
    stock = type("Stock", (), {"extend_windowed": False})
    assert group_load(view, 64, window, stock).extend.tolist() == [10_100, 50_000]
