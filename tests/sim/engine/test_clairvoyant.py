"""The clairvoyant is the best of all schedules, not a good one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import preset
from adaptive_depth.controller.table_cost import TableCost
from adaptive_depth.policies.cost_model import LinearCost
from adaptive_depth.policies.registry import entries
from adaptive_depth.policies.types import Candidates, Load
from adaptive_depth.sim.engine.clairvoyant import clairvoyant
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense
from adaptive_depth.sim.engine.hindsight import static_ladder
from adaptive_depth.sim.engine.trace_set import TraceSet

CANDIDATES = Candidates((0, 1, 3), (0, 512), 64, start_depth=1)
#: A staircase: three drafts cost no more than two would, so that greedy depth is wrong.
STAIRS = TableCost((0, 1, 3), (1,), ((1.0,), (1.9,), (2.0,)))


def cheapest(trace, request, cost, position=0):
    """Least seconds from ``position`` on, over every schedule."""
    tokens = int(trace.output_tokens[request])
    if position >= tokens:
        return 0.0
    at, context = trace.start[request] + position, float(trace.context[request] + position)
    best = np.inf
    for row, window in enumerate(CANDIDATES.windows):
        reads = min(context, window + 64) if window else context
        one, full, read = np.ones(1), np.array([context]), np.array([reads])
        load = Load(one, full, read if cost.extend_windowed else full, read)
        for index, depth in enumerate(CANDIDATES.depths):
            seconds = float(cost.seconds(load, CANDIDATES.depth_array)[0, index])
            taken = min(int(trace.accepted[row, at]), depth)
            best = min(best, seconds + cheapest(trace, request, cost, position + taken + 1))
    return best


@pytest.mark.parametrize("cost", [preset("q35-b200"), preset("nem-b200"), STAIRS])
def test_equals_the_least_of_all_schedules(cost, random_trace):
    """Brute force over tiny requests, two windows, contexts that matter."""
    trace = random_trace(seed=2, requests=12, longest=5, windows=(0, 512), k_max=3, context=900_000)
    seer = clairvoyant(trace, CANDIDATES, cost)
    want = [cheapest(trace, request, cost) for request in range(trace.requests)]
    np.testing.assert_allclose(seer.seconds, want, rtol=1e-12)
    assert seer.tokens.tolist() == trace.output_tokens.tolist()


def test_its_books_are_those_of_a_schedule(random_trace):
    """Rounds, histograms and depth sums agree with each other."""
    trace = random_trace(seed=3, requests=20, windows=(0, 512), context=900_000, k_max=3)
    seer = clairvoyant(trace, CANDIDATES, preset("q35-b200"))
    rounds = int(seer.rounds.sum())
    assert sum(seer.depth_histogram.values()) == sum(seer.window_histogram.values()) == rounds
    assert sum(k * n for k, n in seer.depth_histogram.items()) == int(seer.depth_sum.sum())
    assert seer.known_rounds == seer.group_rounds == rounds


@st.composite
def small_traces(draw):
    counts = draw(st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=6))
    flat = np.array([count for request in counts for count in request], np.int8)
    start = np.concatenate([[0], np.cumsum([len(request) for request in counts])]).astype(np.int64)
    other = np.array(draw(st.lists(st.integers(0, 3), min_size=len(flat), max_size=len(flat))), np.int8)
    context = np.array(draw(st.lists(st.integers(0, 10**6), min_size=len(counts), max_size=len(counts))))
    return TraceSet("made", "synthetic", (0, 512), 64, 3, context, start, np.stack([flat, other]))


costs = st.builds(
    LinearCost,
    v0=st.floats(1e-3, 1.0),
    v1=st.floats(0, 1),
    v2=st.floats(0, 1e-5),
    v3=st.floats(0, 1e-6),
    spec=st.floats(0, 1),
    f0=st.floats(0, 1),
    f2=st.floats(0, 1e-6),
    extend_windowed=st.booleans(),
    extend_at_zero=st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(small_traces(), costs)
def test_no_policy_is_ever_faster(trace, cost):
    """Whatever the trace and the cost: not a static choice, not a rule, request by request."""
    seer = clairvoyant(trace, CANDIDATES, cost).seconds * (1 + 1e-9)
    runs = list(static_ladder(trace, CANDIDATES, cost, ReplayOptions()).runs.values())
    for name in (entry.name for entry in entries() if entry.name != "sglang-ema"):
        controller = build_controller(name, candidates=CANDIDATES, cost=cost, strict=True)
        runs.append(replay_dense(trace, controller, cost, ReplayOptions(lanes=2, lag=2)))
    for run in runs:
        assert (seer >= 0).all() and (run.seconds >= seer * (1 - 2e-9)).all()
