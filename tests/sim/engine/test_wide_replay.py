"""Many lanes are planned and learned in parts that fit a cache; nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.controller import acceptance, depth_controller
from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.registry import entries
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense

CANDIDATES = Candidates(tuple(range(8)), (0, 512), 64, start_depth=3)


@pytest.mark.parametrize("name", [entry.name for entry in entries() if entry.name != "sglang-ema"])
def test_parts_do_not_change_a_single_bit(name, random_trace, monkeypatch):
    """The same lanes in parts of 7 and all together: every round, second and window is the same."""
    trace, cost = (
        random_trace(seed=1, requests=90, windows=(0, 512), context=900_000, k_max=7),
        preset("q35-b200"),
    )

    def run():
        controller = build_controller(name, candidates=CANDIDATES, cost=cost, strict=True)
        return replay_dense(trace, controller, cost, ReplayOptions(lanes=30, lag=2))

    together = run()
    monkeypatch.setattr(acceptance, "ROWS_TOGETHER", 7)
    monkeypatch.setattr(depth_controller, "ROWS_TOGETHER", 7)
    apart = run()
    np.testing.assert_array_equal(apart.seconds, together.seconds)
    np.testing.assert_array_equal(apart.rounds, together.rounds)
    assert apart.depth_histogram == together.depth_histogram
    assert apart.window_histogram == together.window_histogram
    assert apart.switches == together.switches
