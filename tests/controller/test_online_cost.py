"""The online cost: converges from a wrong start, shrugs off stalls, follows a change, stays cheap and
legal.
"""

import time
from dataclasses import replace

import numpy as np
import pytest

from adaptive_depth.controller.online_cost import GENERIC_PRIOR, OnlineCost
from adaptive_depth.controller.presets import PRESETS
from adaptive_depth.policies.cost_model import COEFFICIENTS, Load
from adaptive_depth.traces.errors import ConfigError

PRIORS = {**PRESETS, "generic": replace(GENERIC_PRIOR, extend_windowed=True, extend_at_zero=False)}
WRONG = [(true, prior) for true in PRESETS for prior in PRIORS if prior != true]


def load(rows, context, window):
    reads = min(context, window + 64) if window else context
    return Load(*(np.array([float(v)]) for v in (rows, rows * context, rows * reads, rows * reads)))


def visit(rng, mode):
    """One round's depth and load: ``single`` is one request from 8K to 1M, ``batch`` up to 16, ``fixed``
    one place.
    """
    if mode == "fixed":
        return int(rng.integers(0, 8)), load(1, 1_000_000, 4032)
    rows, top = (1, 1.04e6) if mode == "single" else (int(rng.integers(1, 17)), 3e5)
    context = int(np.exp(rng.uniform(np.log(8e3), np.log(top))))
    return int(rng.integers(0, 8)), load(rows, context, int(rng.choice([0, 4032])))


def price(cost, work, depth):
    return float(cost.seconds(work, np.array([depth]))[0, 0])


def feed(online, true, rng, mode, rounds, scale=1.0, noise=0.05, outliers=0.05):
    """Rounds with log-normal noise, of which some stall for 5 to 50 times as long."""
    for _ in range(rounds):
        depth, work = visit(rng, mode)
        seconds = scale * price(true, work, depth) * np.exp(noise * rng.standard_normal())
        if rng.random() < outliers:
            seconds *= np.exp(rng.uniform(np.log(5), np.log(50)))
        online.observe(work, np.array([depth]), np.array([seconds]))


def errors(online, true, rng, mode, scale=1.0):
    """Relative errors of prediction over the visited range."""
    places = [visit(rng, mode) for _ in range(200)]
    return np.array([price(online.cost, w, k) / (scale * price(true, w, k)) - 1 for k, w in places])


@pytest.mark.parametrize("mode", ["single", "batch", "fixed"])
@pytest.mark.parametrize(("true", "prior"), WRONG)
def test_converges_within_200_rounds(true, prior, mode):
    """From another model's preset or a generic start, 5 % noise and 5 % stalls: after 200 rounds
    predictions are within 5 % (95 % of them, every seed) and within 2 % on average."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        online = OnlineCost(PRIORS[prior])
        feed(online, PRESETS[true], rng, mode, 200)
        missed = np.abs(errors(online, PRESETS[true], rng, mode))
        assert np.quantile(missed, 0.95) <= 0.05 and missed.mean() <= 0.02 and missed.max() <= 0.1, seed


def test_without_noise_the_fit_is_nearly_exact():
    """Rounds without noise are reproduced within half a percent everywhere visited."""
    rng = np.random.default_rng(0)
    online = OnlineCost(PRESETS["q35-b200"])
    feed(online, PRESETS["nem-b200"], rng, "single", 400, noise=0.0, outliers=0.05)
    assert np.abs(errors(online, PRESETS["nem-b200"], rng, "single")).max() < 0.005


def test_stalls_are_counted_and_change_nothing():
    """With and without 5 % stalls the same rounds give the same prices to within a percent."""
    fitted = []
    for outliers in (0.0, 0.05):
        online = OnlineCost(PRESETS["q35-b200"])
        feed(
            online, PRESETS["q122-b200"], np.random.default_rng(7), "fixed", 600, noise=0.0, outliers=outliers
        )
        fitted.append(price(online.cost, load(1, 1_000_000, 4032), 5))
    assert fitted[1] == pytest.approx(fitted[0], rel=0.01)
    assert 0.02 < online.outliers / online.rounds < 0.08


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300])
def test_seconds_that_are_no_sample(bad):
    """NaN, infinite, zero, negative and impossibly short seconds leave no trace, alone or among others."""
    clean, dirty = OnlineCost(), OnlineCost()
    for depth in (0, 1, 3, 7) * 20:
        work = load(1, 100_000, 0)
        clean.observe(work, np.array([depth]), np.array([0.01 + 0.001 * depth]))
        dirty.observe(work, np.array([depth]), np.array([bad]))
        dirty.observe(work, np.array([depth]), np.array([0.01 + 0.001 * depth]))
    assert dirty.cost == clean.cost
    pair = Load(*(np.array([1.0, 1.0]) * v for v in (1, 1000, 1000, 1000)))
    dirty.observe(pair, np.array([1, 2]), np.array([bad, 0.011]))
    assert dirty.rounds == clean.rounds


def test_impossibly_quick_rounds_do_not_drag_the_price():
    """A clock that sometimes reports a hundredth of the time is judged a fault."""
    online, rng = OnlineCost(PRESETS["q35-b200"]), np.random.default_rng(3)
    true = PRESETS["q122-b200"]
    for index in range(320):
        depth, work = visit(rng, "single")
        seconds = price(true, work, depth) * (0.01 if index % 20 == 3 else 1.0)
        online.observe(work, np.array([depth]), np.array([seconds]))
    assert np.abs(errors(online, true, rng, "single")).max() < 0.02


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_follows_a_server_that_changes_speed(scale):
    """After 800 rounds the server runs at another speed; 160 rounds later prices are within 10 % again."""
    online, rng = OnlineCost(PRESETS["q122-b200"]), np.random.default_rng(2)
    feed(online, PRESETS["q122-b200"], rng, "single", 800)
    feed(online, PRESETS["q122-b200"], rng, "single", 160, scale=scale)
    assert np.abs(errors(online, PRESETS["q122-b200"], rng, "single", scale)).max() < 0.1


def test_depths_never_played_are_priced_like_the_prior_at_the_measured_level():
    """Where only one depth was played on a server twice as slow, the other depths are the prior's,
    doubled.
    """
    true, work, every = PRESETS["q35-b200"], load(1, 500_000, 4032), np.arange(8)
    online = OnlineCost(true)
    for _ in range(64):
        online.observe(work, np.array([3]), np.array([2 * price(true, work, 3)]))
    assert online.cost.seconds(work, every)[0] == pytest.approx(2 * true.seconds(work, every)[0], rel=0.01)


def test_starts_as_its_prior_and_keeps_its_flags():
    """Before data the cost is the prior; fitted costs keep how extend is paid and have no negative
    coefficient.
    """
    prior = PRESETS["nem-b200"]
    online = OnlineCost(prior)
    assert online.cost == prior and online.learns
    feed(online, PRESETS["q35-b200"], np.random.default_rng(1), "single", 64)
    fitted = online.cost
    assert fitted != prior and fitted.extend_windowed and not fitted.extend_at_zero
    assert all(getattr(fitted, name) >= 0 for name in COEFFICIENTS)


def test_many_groups_at_once():
    """A replay's thousands of groups are taken in one call and teach the same."""
    true, rng = PRESETS["nem-b200"], np.random.default_rng(5)
    online = OnlineCost(PRESETS["q35-b200"])
    for _ in range(12):
        context = np.exp(rng.uniform(np.log(8e3), np.log(1e6), 5000))
        work = Load(np.ones(5000), context, context, context)
        depth = rng.integers(0, 8, 5000)
        seconds = true.seconds(work, np.arange(8))[np.arange(5000), depth]
        online.observe(work, depth, seconds)
    assert online.cost.seconds(work, np.arange(8)) == pytest.approx(
        true.seconds(work, np.arange(8)), rel=0.02
    )


def test_state_round_trip():
    """A restored twin goes on exactly as the original; another release's state is refused."""
    first, rng = OnlineCost(PRESETS["q35-b200"]), np.random.default_rng(9)
    feed(first, PRESETS["q122-b200"], rng, "batch", 160)
    second = OnlineCost(PRESETS["q35-b200"])
    second.load_state(first.state_dict())
    assert second.cost == first.cost
    for online in (first, second):
        feed(online, PRESETS["q122-b200"], np.random.default_rng(11), "batch", 96)
    assert second.cost == first.cost and second.rounds == first.rounds and second.outliers == first.outliers
    with pytest.raises(ConfigError, match="version 99, not 1"):
        second.load_state({**first.state_dict(), "version": 99})


def test_memory_is_bounded():
    """The state does not grow with rounds."""
    online, rng = OnlineCost(), np.random.default_rng(4)
    feed(online, PRESETS["q35-b200"], rng, "single", 200)
    size = sum(np.size(value) for value in online.state_dict().values())
    feed(online, PRESETS["q35-b200"], rng, "single", 2000)
    assert sum(np.size(value) for value in online.state_dict().values()) == size


def test_a_round_is_taken_in_microseconds():
    """One round costs about 10 µs on average, fits included; the bound leaves room for a busy machine."""
    online, rng = OnlineCost(), np.random.default_rng(6)
    rounds = [visit(rng, "batch") for _ in range(640)]
    rounds = [(w, np.array([k]), np.array([price(PRESETS["q35-b200"], w, k)])) for k, w in rounds]
    spent = []
    for _ in range(5):
        begin = time.perf_counter()
        for work, depth, seconds in rounds:
            online.observe(work, depth, seconds)
        spent.append((time.perf_counter() - begin) / len(rounds))
    assert min(spent) < 40e-6
