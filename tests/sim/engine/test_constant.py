"""The walk of one depth is the replay of ``static``, without its cost."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine import constant
from adaptive_depth.sim.engine.constant import replay_constant
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense

DEPTHS, WINDOWS = (0, 1, 3, 8), (0, 512)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("rows", [5, 100_000])
def test_equals_the_controller_playing_static(depth, window, rows, random_trace, monkeypatch):
    """Tokens, rounds, seconds and histograms by request, whatever number of rows is walked together."""
    monkeypatch.setattr(constant, "CACHED_ROWS", rows)
    trace, cost = random_trace(seed=5, requests=33, windows=WINDOWS, context=300_000), preset("q122-b200")
    candidates = Candidates(DEPTHS, WINDOWS, 64, start_depth=depth, start_window=window)
    controller = build_controller(
        f"static:depth={depth},window={window}", candidates=candidates, cost=cost, strict=True
    )
    want = replay_dense(trace, controller, cost, ReplayOptions(lag=2))
    got = replay_constant(trace, depth, window, cost)
    assert got.tokens.tolist() == want.tokens.tolist()
    assert got.rounds.tolist() == want.rounds.tolist()
    assert got.depth_sum.tolist() == want.depth_sum.tolist()
    np.testing.assert_allclose(got.seconds, want.seconds, rtol=1e-12)
    assert got.depth_histogram == want.depth_histogram
    assert got.window_histogram == want.window_histogram
    assert got.group_rounds == want.group_rounds and got.known_rounds == want.known_rounds


def test_known_rounds_are_counted_where_the_trace_says_so(trace_of):
    """Positions 0, 2 and 4 are played; the depth is known at two of them."""
    trace = trace_of([[1, 0, 1, 0, 0]])
    known = np.array([1, -1, 0, -1, 127], np.int8)
    run = replay_constant(
        type(trace)(**{n: getattr(trace, n) for n in trace.__slots__} | {"known": known}),
        1,
        0,
        preset("q35-b200"),
    )
    assert (run.rounds.tolist(), run.known_rounds) == ([3], 2)


def test_requests_without_output_take_no_round(trace_of):
    """Empty is not zero divided by zero."""
    run = replay_constant(trace_of([[], [2, 0, 0], []]), 2, 0, preset("q35-b200"))
    assert run.rounds.tolist() == [0, 1, 0]
    assert run.seconds[[0, 2]].tolist() == [0.0, 0.0]
