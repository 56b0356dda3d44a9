"""The simple synthetic traces do what their closed forms say."""

import numpy as np
import pytest

from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.synth_simple import all_accepted, none_accepted, phases, run_lengths, stationary


def test_stationary_has_the_mean_it_was_asked_for():
    """The mean accepted count at the chain cap is the requested one, within 5 standard errors."""
    block = stationary(np.random.default_rng(1), mean_accepted=2.0, requests=200, tokens=500)
    assert block.accepted.shape == (1, 100_000)
    assert block.accepted.mean() == pytest.approx(2.0, abs=0.06)
    assert block.output_tokens.tolist() == [500] * 200


def test_stationary_rounds_are_independent():
    """Along a fixed-depth replay accept lengths have no serial correlation: there is no drift to chase."""
    accepted = stationary(np.random.default_rng(2), requests=1, tokens=60_000).accepted[0]
    position, played = 0, []
    while position < len(accepted):
        played.append(accepted[position])
        position += int(accepted[position]) + 1
    assert abs(np.corrcoef(played[:-1], played[1:])[0, 1]) < 0.03


def test_phases_switch_at_the_token_they_name():
    """Nothing is accepted before the switch, everything after it, and chains cross the border."""
    block = phases(np.random.default_rng(3), [(10, 0.0), (10, 4.0)], requests=2, k_max=4)
    assert block.accepted.reshape(2, 20).tolist() == [[0] * 10 + [4] * 10] * 2
    falling = phases(np.random.default_rng(3), [(10, 4.0), (10, 0.0)], requests=1, k_max=4)
    assert falling.accepted[0].tolist() == [4] * 7 + [3, 2, 1] + [0] * 10


def test_extremes_and_windows():
    """All-accepted and none-accepted hold only their one value, in every window."""
    assert np.unique(all_accepted(k_max=5, windows=3).accepted).tolist() == [5]
    assert none_accepted(windows=2).accepted.shape == (2, 8 * 256)
    assert not none_accepted().accepted.any()


def test_same_seed_same_trace():
    """Two generators with one seed give one trace; another seed gives another."""
    first, again, other = (stationary(np.random.default_rng(seed)).accepted for seed in (7, 7, 8))
    assert (first == again).all() and (first != other).any()


def test_run_lengths_stop_at_the_first_hard_token():
    """A chain counts easy tokens up to the first hard one, never past the cap."""
    easy = np.array([[1, 1, 1, 0, 1, 1, 1, 1]], bool)
    assert run_lengths(easy, 2).tolist() == [[2, 2, 1, 0, 2, 2]]


@pytest.mark.parametrize(
    "bad", [{"mean_accepted": 8.0}, {"mean_accepted": -1.0}, {"requests": 0}, {"tokens": 0}]
)
def test_impossible_requests_are_refused(bad):
    """A mean above the cap or an empty trace is a named error, not a silent clamp."""
    with pytest.raises(ConfigError):
        stationary(np.random.default_rng(0), **bad)
