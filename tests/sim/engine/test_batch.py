"""Requests that share rounds: one depth, joint cost, lanes always full."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.depth_controller import DepthController, FixedCost
from adaptive_depth.policies.cost_model import LinearCost
from adaptive_depth.policies.types import BatchView, Candidates, Plan, RoundResult
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense

CANDIDATES = Candidates((0, 1, 3), start_depth=1)
#: A round that grows with rows and context, so that sharing it shows.
COST = LinearCost(v0=1.0, v1=0.1, v2=1e-4, f0=0.3)


class Listener(DepthController):
    """A static controller that keeps what it was shown."""

    def __init__(self, depth=1):
        plain = build_controller(f"static:{depth}", candidates=CANDIDATES, cost=COST, strict=True)
        super().__init__(CANDIDATES, plain.rule, None, FixedCost(COST), strict=True)
        self.batches: list[BatchView] = []
        self.results: list[RoundResult] = []
        self.gone: list[int] = []

    learns = True

    def plan(self, batch: BatchView) -> Plan:
        self.batches.append(batch)
        return super().plan(batch)

    def observe(self, result: RoundResult) -> None:
        self.results.append(result)
        super().observe(result)

    def forget(self, slots):
        self.gone += list(slots)
        super().forget(slots)


@pytest.mark.parametrize("batch", [2, 5])
def test_shared_seconds_sum_to_the_groups_seconds(batch, random_trace):
    """No second is lost or counted twice, whatever the group's size at the end."""
    trace, listener = random_trace(seed=7, requests=41), Listener()
    run = replay_dense(trace, listener, COST, ReplayOptions(batch=batch, lanes=3, lag=1))
    total = sum(float(result.seconds.sum()) for result in listener.results)
    assert run.seconds.sum() == pytest.approx(total)
    assert run.group_rounds == sum(len(result.seconds) for result in listener.results)
    assert run.tokens.tolist() == trace.output_tokens.tolist()


def test_lanes_are_full_until_the_queue_is_dry(random_trace):
    """A request that ends is replaced at once: every round before the last admission has every seat taken."""
    trace, listener = random_trace(seed=8, requests=30), Listener()
    replay_dense(trace, listener, COST, ReplayOptions(batch=4, lanes=2, lag=1))
    sizes = [len(batch.slot) for batch in listener.batches]
    full = sum(size == 8 for size in sizes)
    assert full > len(sizes) / 2
    assert sizes == sorted(sizes, reverse=True)
    for batch in listener.batches[:full]:
        assert np.bincount(batch.group).tolist() == [4, 4]


def test_a_round_costs_what_the_group_brings(trace_of):
    """Two requests at 1,000 and 1,000 tokens, depth 1: 1 + 0.1·2·2 + 1e-4·2000 seconds, half to each."""
    trace, listener = trace_of([[0], [0]], context=1000), Listener()
    run = replay_dense(trace, listener, COST, ReplayOptions(batch=2))
    assert listener.results[0].seconds.tolist() == pytest.approx([1.6])
    assert run.seconds.tolist() == pytest.approx([0.8, 0.8])


def test_batching_pays_where_the_round_is_mostly_fixed(random_trace):
    """The same rounds by request, in less time by request."""
    trace = random_trace(seed=9, requests=24)
    alone = replay_dense(trace, Listener(), COST, ReplayOptions(batch=1))
    shared = replay_dense(trace, Listener(), COST, ReplayOptions(batch=4))
    assert alone.rounds.tolist() == shared.rounds.tolist()
    assert shared.seconds.sum() < 0.6 * alone.seconds.sum()


@pytest.mark.parametrize("lag", [0, 1, 2, 3])
def test_feedback_comes_as_late_as_asked_and_never_to_a_stranger(lag, random_trace):
    """With lag n the plan of round r has seen round r - n, and no row of it after its request is gone."""
    trace = random_trace(seed=10, requests=25, longest=9)
    listener = Listener()
    seen: list[int] = []
    plan = listener.plan
    listener.plan = lambda batch: seen.append(len(listener.results)) or plan(batch)  # type: ignore[method-assign]
    replay_dense(trace, listener, COST, ReplayOptions(batch=2, lanes=2, lag=lag))
    late = max(lag, 1)
    assert seen == [max(0, turn - late + 1) for turn in range(len(seen))]
    assert listener.snapshot().stale_rows == 0 and listener.snapshot().unknown_results == 0


def test_a_slot_rests_until_its_last_feedback_is_in(trace_of):
    """One seat at lag 3: the next request takes other slots while results of the last are under way."""
    trace, listener = trace_of([[0, 0]] * 5), Listener()
    replay_dense(trace, listener, COST, ReplayOptions(lanes=1, lag=3))
    slots = [int(batch.slot[0]) for batch in listener.batches]
    assert [slots[first] == slots[first + 1] for first in range(0, 10, 2)] == [True] * 5
    assert len(set(slots[:8])) == 4
    assert listener.gone[:3] == [slots[0], slots[2], slots[4]]


def test_lag_0_is_lag_1(random_trace):
    """No count is known before its own verify."""
    trace = random_trace(seed=11, requests=20)

    def run(lag):
        controller = build_controller("marginal", candidates=CANDIDATES, cost=COST, strict=True)
        return replay_dense(trace, controller, COST, ReplayOptions(lanes=2, lag=lag))

    assert run(0).seconds.tolist() == run(1).seconds.tolist()
    assert run(1).depth_histogram != run(3).depth_histogram


def test_the_last_round_of_a_request_teaches_the_pool(trace_of):
    """Requests of one round each: all there is to learn comes from rounds that end one."""
    trace = trace_of([[0]] * 200)
    controller = build_controller("marginal", candidates=CANDIDATES, cost=COST, strict=True)
    run = replay_dense(trace, controller, COST, ReplayOptions(lanes=1, lag=2))
    assert controller.snapshot().stale_rows == 0
    assert run.depth_histogram[0] > 100
