"""Rounds of fixed depths on public recordings, counted by others."""

from __future__ import annotations

import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense
from adaptive_depth.sim.engine.hindsight import static_ladder

DEPTHS = (0, 1, 2, 3, 5, 7, 20)
ROUNDS = {
    "specdecode_bench_cnn-eagle": (96_644, 57_784, 46_452, 41_575, 37_557, 35_938, 35_160),
    "specdecode_bench_instructcoder-eagle": (125_164, 74_554, 59_848, 53_421, 47_792, 45_462, 44_368),
    "specdecode_bench_instructcoder-ngram": (130_989, 86_824, 71_861, 64_604, 57_235, 53_524, 47_445),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_the_ladder_plays_exactly_the_known_rounds(name, public_dense):
    """Every depth, to the round."""
    ladder = static_ladder(public_dense[name], Candidates(DEPTHS), preset("q35-b200"), ReplayOptions())
    assert tuple(int(ladder.runs[depth, 0].rounds.sum()) for depth in DEPTHS) == ROUNDS[name]


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.parametrize(("depth", "batch"), [(0, 1), (3, 1), (20, 1), (5, 4)])
def test_the_controller_plays_exactly_the_known_rounds(name, depth, batch, public_dense):
    """``static`` through the controller, alone and in shared batches, plays the same rounds."""
    trace, cost = public_dense[name], preset("nem-b200")
    candidates = Candidates(DEPTHS, start_depth=depth)
    controller = build_controller(f"static:{depth}", candidates=candidates, cost=cost, strict=True)
    run = replay_dense(trace, controller, cost, ReplayOptions(batch=batch))
    assert int(run.rounds.sum()) == ROUNDS[name][DEPTHS.index(depth)]
    assert run.tokens.tolist() == trace.output_tokens.tolist()
