"""The yardstick of the benchmarks is the product's rule, written plainly."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine.constant import replay_constant
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense

DEPTHS = tuple(range(1, 8))


@pytest.fixture(scope="module")
def plain_loop() -> ModuleType:
    """The benchmark's module, which belongs to no package."""
    path = Path(__file__).parents[3] / "benchmarks" / "plain_loop.py"
    spec = importlib.util.spec_from_file_location("plain_loop", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lists(trace):
    return trace.accepted[0].tolist(), trace.start.tolist(), trace.context.tolist()


def test_marginal_decides_the_same_depth_in_every_round(plain_loop, drifting_trace):
    """The plain loop's rounds, depths and seconds are the product's, on requests that differ and drift."""
    cost, trace = preset("q35-b200"), drifting_trace(requests=60, seed=3)
    candidates = Candidates(DEPTHS, start_depth=3)
    controller = build_controller("marginal", candidates=candidates, cost=cost, strict=True)
    every = tuple(range(trace.requests))
    run = replay_dense(trace, controller, cost, ReplayOptions(lanes=1, lag=1), watch=every)
    rule = Recorder(plain_loop.Marginal(list(DEPTHS), 3))
    _, rounds, seconds, _, histogram = plain_loop.replay(rule, *lists(trace), cost)
    assert rounds == run.rounds.tolist()
    assert rule.depths == run.path[2].tolist()
    assert len(set(rule.depths)) > 3
    assert histogram == run.depth_histogram
    np.testing.assert_allclose(seconds, run.seconds, rtol=1e-12)


def test_static_books_the_same_rounds_and_seconds(plain_loop, drifting_trace):
    """The plain static loop and the walk of one depth agree on every request."""
    cost, trace = preset("nem-b200"), drifting_trace(requests=20, seed=4)
    run = replay_constant(trace, 5, 0, cost)
    _, rounds, seconds, _, histogram = plain_loop.replay(plain_loop.Static(5), *lists(trace), cost)
    assert rounds == run.rounds.tolist()
    assert histogram == run.depth_histogram
    np.testing.assert_allclose(seconds, run.seconds, rtol=1e-12)


class Recorder:
    """Keeps every depth of a rule."""

    def __init__(self, rule):
        self.rule, self.depths = rule, []
        self.start, self.observe = rule.start, rule.observe

    def plan(self, cost, context):
        depth = self.rule.plan(cost, context)
        self.depths.append(depth)
        return depth
