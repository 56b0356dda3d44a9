"""What could have been done: ladders and intervals by request."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine.dense import ReplayOptions
from adaptive_depth.sim.engine.hindsight import ratio_interval, static_ladder
from adaptive_depth.sim.engine.replayed import Replayed

CANDIDATES = Candidates((0, 1, 3, 8), (0, 512), 64, start_depth=1)


def run_of(tokens, seconds):
    run = Replayed.empty(len(tokens))
    run.tokens, run.seconds = np.array(tokens), np.array(seconds, float)
    return run


def test_the_ladder_plays_every_choice_and_depth_0_once(random_trace):
    """Depth 0 reads no window."""
    trace = random_trace(windows=(0, 512), context=900_000)
    ladder = static_ladder(trace, CANDIDATES, preset("q35-b200"), ReplayOptions())
    assert set(ladder.runs) == {(0, 512), *((k, w) for k in (1, 3, 8) for w in (0, 512))}
    rates = {choice: run.tokens_per_second for choice, run in ladder.runs.items()}
    assert rates[ladder.best] == max(rates.values())


@pytest.mark.parametrize("batch", [1, 3])
def test_best_by_request_is_at_least_the_best(batch, random_trace):
    """Request by request it is the fastest of the ladder."""
    trace = random_trace(seed=2, windows=(0, 512), context=900_000)
    ladder = static_ladder(trace, CANDIDATES, preset("q35-b200"), ReplayOptions(batch=batch))
    chosen = ladder.best_per_request()
    assert chosen.tokens_per_second >= ladder.runs[ladder.best].tokens_per_second
    np.testing.assert_array_equal(
        chosen.seconds, np.min([run.seconds for run in ladder.runs.values()], axis=0)
    )
    assert sum(chosen.depth_histogram.values()) == int(chosen.rounds.sum())
    assert sum(k * n for k, n in chosen.depth_histogram.items()) == int(chosen.depth_sum.sum())


def test_the_interval_is_the_same_for_the_same_seed():
    """And another for another."""
    rng = np.random.default_rng(0)
    run, base = (run_of(rng.integers(50, 99, 40), rng.uniform(1, 2, 40)) for _ in range(2))
    assert ratio_interval(run, base, seed=1) == ratio_interval(run, base, seed=1)
    assert ratio_interval(run, base, seed=1) != ratio_interval(run, base, seed=2)


def test_requests_are_paired():
    """A run that is 10 % faster on every request is so without any doubt, however requests differ."""
    rng = np.random.default_rng(1)
    tokens, seconds = rng.integers(10, 1000, 30), rng.uniform(1, 9, 30)
    low, high = ratio_interval(run_of(tokens, seconds / 1.1), run_of(tokens, seconds))
    assert low == pytest.approx(0.1) and high == pytest.approx(0.1)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    """95 % intervals of a mean gain of 5 %, 200 times 60 requests: 90 to 99 % hold it."""
    rng, inside = np.random.default_rng(2), 0

    def seconds(requests):
        return 10.0 / np.clip(rng.normal(1.05, 0.2, requests), 0.1, None)

    truth = 10.0 / seconds(400_000).mean() - 1
    for trial in range(200):
        run, base = run_of(np.full(60, 100), seconds(60)), run_of(np.full(60, 100), np.full(60, 10.0))
        low, high = ratio_interval(run, base, seed=trial)
        inside += low <= truth <= high
    assert 0.90 <= inside / 200 <= 0.99


def test_one_request_has_no_interval():
    """Nothing to resample."""
    assert ratio_interval(run_of([5], [1]), run_of([5], [2])) is None
