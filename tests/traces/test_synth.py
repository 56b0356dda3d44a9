"""The generator of synthetic dense traces: what its parameters mean, and that luck is shared and seeded."""

from dataclasses import replace

import numpy as np
import pytest

from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.synth import (
    RequestPlan,
    SynthModel,
    WindowEffect,
    accepted_counts,
    draw_noise,
    generate,
    stationary_ar,
)

MODEL = SynthModel(thresholds=(0.6, 0.5, 0.5, 0.5), level_sd=0.3, drift_sd=0.4, drift_memory=0.9, sharing=0.8)


@pytest.fixture
def plan():
    """Sixty requests of 100..300 tokens with a spread of levels."""
    length = np.random.default_rng(5).integers(100, 300, 60)
    names = tuple(f"r{index}" for index in range(60))
    context = np.full(60, 1_000_000, np.int64)
    score = np.linspace(-2, 2, 60)
    return RequestPlan(request_id=names, workload=names, context=context, output_tokens=length, score=score)


def counts(model, tokens=20_000, seed=1):
    """Accepted counts of one long request of an average level."""
    noise = draw_noise(np.random.default_rng(seed), np.array([tokens]), model.k_max)
    return accepted_counts(model, noise, np.zeros(1))


def test_one_seed_one_trace(plan):
    """A seed gives the same arrays again; another seed gives others; counts stay within the chain cap."""
    first, again, other = (generate(np.random.default_rng(seed), MODEL, plan) for seed in (1, 1, 2))
    assert (first.accepted == again.accepted).all()
    assert (first.accepted != other.accepted).any()
    assert first.accepted.min() == 0 and first.accepted.max() == 4
    assert first.output_tokens.tolist() == plan.output_tokens.tolist()


def test_threshold_is_the_probit_of_acceptance():
    """Without levels and drift, a threshold of 0 accepts half of the drafts and one of 1 accepts 84.1 %."""
    accepted = counts(SynthModel(thresholds=(0.0, 1.0), level_sd=0, drift_sd=0, sharing=0))[0]
    assert (accepted >= 1).mean() == pytest.approx(0.5, abs=0.015)
    assert (accepted == 2).mean() / (accepted >= 1).mean() == pytest.approx(0.8413, abs=0.015)


def test_full_sharing_makes_counts_run_down():
    """Where difficulty belongs to tokens alone, a chain stops at the token where the one before stopped."""
    flat = SynthModel(thresholds=(0.7,) * 6, level_sd=0, drift_sd=0.4, sharing=1.0)
    accepted = counts(flat)[0]
    here, following = accepted[:-1], accepted[1:]
    assert (following[here == 6] >= 5).all()
    inside = (here > 0) & (here < 6)
    assert (following[inside] == here[inside] - 1).all()
    loose = counts(replace(flat, sharing=0.0))[0]
    assert (loose[1:][loose[:-1] >= 2] >= loose[:-1][loose[:-1] >= 2] - 1).mean() < 0.7


def test_score_raises_a_request(plan):
    """Requests of the upper half of the scores accept more than those of the lower half."""
    block = generate(np.random.default_rng(1), MODEL, plan)
    mean = [block.accepted[0, lo:hi].mean() for lo, hi in zip(block.start[:-1], block.start[1:], strict=True)]
    assert np.mean(mean[30:]) > np.mean(mean[:30]) + 0.3


def test_drift_is_a_stationary_ar1_that_restarts():
    """Unit variance from the first token on, the correlation asked for, none across two requests."""
    fresh = np.tile(np.arange(50), 4000)
    path = stationary_ar(np.random.default_rng(3).standard_normal(len(fresh)), fresh, 0.8).reshape(4000, 50)
    assert path[:, 0].std() == pytest.approx(1, abs=0.05) and path[:, 49].std() == pytest.approx(1, abs=0.05)
    assert np.corrcoef(path[:, 20], path[:, 21])[0, 1] == pytest.approx(0.8, abs=0.03)
    assert np.corrcoef(path[:, 20], path[:, 25])[0, 1] == pytest.approx(0.8**5, abs=0.05)
    assert abs(np.corrcoef(path[:-1, 49], path[1:, 0])[0, 1]) < 0.05


def test_drift_equals_its_recursion():
    """The doubling sum is the AR(1) recursion, to rounding."""
    shocks = np.random.default_rng(4).standard_normal(300)
    want, last = [], shocks[0]
    for index, shock in enumerate(shocks):
        last = shock if index == 0 else 0.95 * last + np.sqrt(1 - 0.95**2) * shock
        want.append(last)
    assert stationary_ar(shocks, np.arange(300), 0.95) == pytest.approx(np.array(want), abs=1e-8)


def test_windows_share_their_luck():
    """A window without effect equals full context; one that only makes drafting harder never accepts more."""
    effects = (
        WindowEffect(window=0),
        WindowEffect(window=8192),
        WindowEffect(window=1024, shift=(0.0, -0.4)),
        WindowEffect(window=512, changed=0.1),
    )
    full, same, harder, redrawn = counts(replace(MODEL, windows=effects))
    assert (full == same).all()
    assert (harder <= full).all() and (harder < full).any()
    assert ((harder > 0) == (full > 0)).all(), "the first draft's shift is 0"
    flips = ((redrawn > 0) != (full > 0)).mean()
    assert 0.02 < flips < 0.1, "a redrawn token may keep its verdict"


def test_wider_windows_agree_better():
    """A token redrawn in a wide window is redrawn alike in a narrower one: they differ in few tokens."""
    effects = [WindowEffect(window=w, changed=c) for w, c in ((0, 0.0), (8192, 0.05), (1024, 0.15))]
    full, wide, narrow = counts(replace(MODEL, windows=tuple(effects)))
    assert (wide != narrow).mean() < (full != narrow).mean()


@pytest.mark.parametrize(
    "bad",
    [
        {"thresholds": ()},
        {"sharing": 1.5},
        {"drift_memory": 1.0},
        {"level_sd": -1},
        {"drift_sd": -0.1},
        {"windows": ()},
    ],
)
def test_parameters_out_of_range_are_refused(bad):
    """A parameter that has no meaning is a named error."""
    with pytest.raises(ConfigError):
        replace(MODEL, **bad)
