"""Whatever legal batches and results come, no rule faults; no illegal result reaches the caller."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.depth_controller import DepthController
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.registry import entries
from adaptive_depth.policies.types import BatchView, Candidates, Plan, RoundResult

RULES = [entry.name for entry in entries()]
CANDIDATES = Candidates(windows=(4032, 0), sink=64, start_window=4032)
#: One round: rows, groups, longest context, how its result comes back, and slots forgotten after it.
ROUNDS = st.tuples(
    st.one_of(st.integers(0, 12), st.just(300)),
    st.integers(1, 12),
    st.sampled_from([1, 5_000, 2_000_000]),
    st.sampled_from(["now", "late", "twice", "never"]),
    st.lists(st.integers(0, 400), max_size=4),
)
SECONDS = st.sampled_from([np.nan, 1e-6, 0.02, 900.0])


def controller(name: str, strict: bool) -> DepthController:
    return build_controller(
        name, candidates=CANDIDATES, cost=preset("nem-b200"), strict=strict, online_cost=True
    )


def batch(rng, rows: int, groups: int, longest: int) -> BatchView:
    """Slots in any order, groups ascending, now and then every row a group of its own."""
    alone = bool(rng.integers(0, 4) == 0)
    group = np.arange(rows) if alone else np.sort(rng.integers(0, groups, rows))
    slot = rng.permutation(400)[:rows].astype(np.int32)
    context = rng.integers(1, longest + 1, rows)
    return BatchView(slot, group.astype(np.int32), context, context // 2, one_row_each=alone)


def result(rng, view: BatchView, plan: Plan, seconds: float) -> RoundResult:
    depth = plan.row_depth(view)
    accepted = (rng.random(len(depth)) * (depth + 1)).astype(np.int8)
    timed = np.full(len(view.groups), seconds)
    return RoundResult(
        plan.plan_id, view.slot, view.group, view.context, depth, plan.window, accepted, timed,
        one_row_each=view.one_row_each,
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(RULES), st.lists(ROUNDS, max_size=25), SECONDS, st.integers(0, 9))
def test_legal_input_never_faults(name, rounds, seconds, seed):
    """Empty and large batches, changing groups, re-used slots, results in any order: always legal plans."""
    rng, late = np.random.default_rng(seed), []
    server = controller(name, strict=True)
    for rows, groups, longest, comes, forgotten in rounds:
        view = batch(rng, rows, groups, longest)
        plan = server.plan(view)
        assert plan.depth.shape == view.groups.shape and plan.window.shape == view.slot.shape
        assert set(plan.depth.tolist()) <= set(CANDIDATES.depths)
        assert set(plan.window.tolist()) <= set(CANDIDATES.windows)
        outcome = result(rng, view, plan, seconds)
        late += [outcome] * {"now": 0, "late": 1, "twice": 2, "never": 0}[comes]
        if comes == "now":
            server.observe(outcome)
        elif late and rng.integers(0, 2):
            server.observe(late.pop(int(rng.integers(0, len(late)))))
        server.forget(np.array(forgotten, np.int64))
    assert server.snapshot().failures == 0


def spoil(outcome: RoundResult, how: str) -> RoundResult:
    rows = len(outcome.slot)
    match how:
        case "accepts more than it drafted":
            outcome.accepted = outcome.depth + np.int8(1)
        case "accepts less than nothing":
            outcome.accepted = np.full(rows, -1, np.int8)
        case "unknown plan":
            outcome.plan_id = 10_000
        case "no plan":
            outcome.plan_id = -1
        case "too few rows":
            outcome.accepted = outcome.accepted[:-1]
    return outcome


FAULTS = [
    "accepts more than it drafted",
    "accepts less than nothing",
    "unknown plan",
    "no plan",
    "too few rows",
]


@pytest.mark.parametrize("how", FAULTS)
def test_illegal_results_are_counted_and_never_raise(rule_name, how):
    """The decode loop goes on with a legal plan; the fault is in the snapshot."""
    rng, server = np.random.default_rng(0), controller(rule_name, strict=False)
    view = batch(rng, 6, 3, 5_000)
    for _ in range(20):
        plan = server.plan(view)
        assert set(plan.depth.tolist()) <= set(CANDIDATES.depths)
        server.observe(spoil(result(rng, view, plan, 0.02), how))
    snapshot = server.snapshot()
    assert snapshot.observed == 0
    assert snapshot.unknown_results == 20 if "plan" in how else snapshot.failures == 8 and snapshot.disabled


@pytest.mark.parametrize("seconds", [np.nan, np.inf, -1.0, 0.0])
def test_seconds_that_are_no_sample_are_no_fault(rule_name, seconds):
    """NaN says unknown; what no clock can say is passed over as well."""
    rng, server = np.random.default_rng(0), controller(rule_name, strict=True)
    view = batch(rng, 6, 3, 5_000)
    for _ in range(60):
        server.observe(result(rng, view, server.plan(view), seconds))
    assert server.snapshot().failures == 0
