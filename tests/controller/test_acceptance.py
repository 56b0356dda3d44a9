"""The acceptance estimator: censored, per request, shrunk to a learned pool, calibrated."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.controller.acceptance import AcceptanceConfig, AcceptanceEstimator
from adaptive_depth.policies.types import BatchView, Candidates, RoundResult

CANDIDATES = Candidates()
WINDOWED = Candidates(windows=(512, 0), sink=64, start_window=0)


def view(slots, context: int = 20_000) -> BatchView:
    slot = np.array(slots, np.int32)
    return BatchView(
        slot, np.arange(len(slot), dtype=np.int32), *(np.full(len(slot), context),) * 2, one_row_each=True
    )


def chains(rng, accept) -> np.ndarray:
    """Drafts that would pass in a row, i8[R], where ``accept`` [R, 7] is each draft's chance."""
    return np.logical_and.accumulate(rng.random(accept.shape) < accept, axis=1).sum(axis=1).astype(np.int8)


def tell(estimator, rows: BatchView, depth, accepted, window=0) -> None:
    """One round: ``depth`` and ``window`` for all rows or each."""
    many = len(rows.slot)
    estimator.observe(
        RoundResult(
            0,
            rows.slot,
            rows.group,
            rows.context,
            np.broadcast_to(np.asarray(depth, np.int8), many),
            np.broadcast_to(np.asarray(window, np.int32), many),
            np.asarray(accepted, np.int8),
            np.full(many, np.nan),
            one_row_each=True,
        )
    )


def play(estimator, rows, accept, rounds, rng, depths=(7,), window=0) -> None:
    """Rounds at the given depths in turn; every draft of row r passes with ``accept[r]``."""
    chance = np.broadcast_to(np.asarray(accept, float).reshape(-1, 1), (len(rows.slot), 7))
    for turn in range(rounds):
        depth = depths[turn % len(depths)]
        tell(estimator, rows, depth, np.minimum(chains(rng, chance), depth), window)


def first(estimator, rows) -> np.ndarray:
    """Estimated chance of the first draft, f32[R]."""
    return estimator.survival(rows)[:, 0, 0]


def hazards(survival: np.ndarray) -> np.ndarray:
    """Chance of each draft given those before it."""
    return survival / np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)


def test_before_any_feedback_it_is_the_prior():
    """One level for every request, falling with depth."""
    survival = AcceptanceEstimator(CANDIDATES, AcceptanceConfig(prior_failure=0.2)).survival(view([0, 9]))
    assert survival.shape == (2, 1, 7) and survival.dtype == np.float32
    assert survival[0, 0, 0] == pytest.approx(0.8) and np.array_equal(survival[0], survival[1])
    assert (np.diff(survival[0, 0]) < 0).all()


def test_survival_is_a_probability_and_never_rises_with_depth():
    """Whatever came, at any level, in both windows."""
    rng, rows = np.random.default_rng(1), view(range(8))
    estimator = AcceptanceEstimator(WINDOWED)
    for level in (0.0, 1.0, 0.5, 0.97):
        play(estimator, rows, [level] * 8, 60, rng, depths=(1, 7, 0, 3), window=512)
        survival = estimator.survival(rows)
        assert np.isfinite(survival).all() and (survival > 0).all() and (survival <= 1).all()
        assert (np.diff(survival, axis=-1) <= 0).all()


def test_depth_0_teaches_nothing():
    """Not drafting is no evidence."""
    rng, rows, estimator = np.random.default_rng(2), view(range(4)), AcceptanceEstimator(CANDIDATES)
    play(estimator, rows, [0.8] * 4, 40, rng)
    before = hazards(estimator.survival(rows))
    play(estimator, rows, [0.8] * 4, 8, rng, depths=(0,))
    assert np.abs(hazards(estimator.survival(rows)) - before).max() < 0.01


def test_censoring_full_acceptance_says_only_at_least():
    """Depth 2 always fully accepted: the third draft is believed good, but not certain."""
    rows, estimator = view(range(4)), AcceptanceEstimator(CANDIDATES)
    for _ in range(100):
        tell(estimator, rows, 2, [2] * 4)
    passed = hazards(estimator.survival(rows))[0, 0]
    assert passed[:2].min() > 0.95
    assert 0.7 < passed[2] < 1.0


@pytest.mark.parametrize("depths", [(7,), (1, 7), (2, 3, 5), (1, 1, 1, 5)], ids=str)
def test_the_depth_played_does_not_bias_the_estimate(depths):
    """Chains cut short at any depth give the same chance per draft as long ones, position by position."""
    rng, rows, estimator = np.random.default_rng(3), view(range(32)), AcceptanceEstimator(CANDIDATES)
    play(estimator, rows, [0.75] * 32, 400, rng, depths=depths)
    passed = hazards(estimator.survival(rows)).mean(axis=0)[0, : max(depths)]
    assert np.abs(passed - 0.75).max() < 0.04


def test_a_position_that_fails_is_found():
    """Two drafts nearly always pass and the third never does."""
    rng, rows, estimator = np.random.default_rng(4), view(range(16)), AcceptanceEstimator(CANDIDATES)
    chance = np.tile([0.95, 0.95, 0.02, 0.5, 0.5, 0.5, 0.5], (16, 1))
    for _ in range(150):
        tell(estimator, rows, 5, np.minimum(chains(rng, chance), 5))
    survival = estimator.survival(rows).mean(axis=0)[0]
    assert survival[1] > 0.85 and survival[2] < 0.1


def test_a_new_request_starts_at_the_pools_level():
    """Whatever that is: learned, not assumed."""
    for level in (0.3, 0.9):
        rng, rows, estimator = np.random.default_rng(5), view(range(16)), AcceptanceEstimator(CANDIDATES)
        play(estimator, rows, [level] * 16, 150, rng)
        assert first(estimator, view([40])) == pytest.approx(level, abs=0.08)


def test_a_request_is_told_from_the_pool_within_rounds():
    """Half pass 9 drafts in 10, half 4: after 10 rounds the order is right, after 60 the levels are."""
    rng, rows, estimator = np.random.default_rng(6), view(range(32)), AcceptanceEstimator(CANDIDATES)
    level = np.where(np.arange(32) % 2, 0.9, 0.4)
    play(estimator, rows, level, 10, rng)
    one = first(estimator, rows)
    assert np.median(one[1::2]) > np.median(one[::2]) + 0.15
    play(estimator, rows, level, 50, rng)
    assert np.abs(first(estimator, rows) - level).mean() < 0.09


def test_little_evidence_moves_little():
    """One rejected round does not make a bad request of a new one."""
    rng, rows, estimator = np.random.default_rng(7), view(range(16)), AcceptanceEstimator(CANDIDATES)
    play(estimator, rows, [0.85] * 16, 150, rng)
    new = view([50])
    before = first(estimator, new)[0]
    tell(estimator, new, 7, [0])
    assert 0.0 < before - first(estimator, new)[0] < 0.1


def test_the_windows_effect_is_learned_for_all():
    """Half the rounds run windowed and pass less: any request, a new one too, is told what a window costs."""
    rng, rows, estimator = np.random.default_rng(8), view(range(16)), AcceptanceEstimator(WINDOWED)
    for _ in range(150):
        play(estimator, rows, [0.9] * 16, 1, rng, window=0)
        play(estimator, rows, [0.6] * 16, 1, rng, window=512)
    new = estimator.survival(view([60]))[0, :, 0]
    assert new[1] - new[0] > 0.2
    only_full = view([61])
    play(estimator, only_full, [0.9], 40, rng, window=0)
    seen = estimator.survival(only_full)[0, :, 0]
    assert seen[1] - seen[0] > 0.1


def test_a_window_never_tried_is_taken_for_the_others():
    """No evidence against it: a rule may try it."""
    rng, rows, estimator = np.random.default_rng(9), view(range(16)), AcceptanceEstimator(WINDOWED)
    play(estimator, rows, [0.9] * 16, 100, rng, window=0)
    survival = estimator.survival(view([60]))[0, :, 0]
    assert survival[0] == pytest.approx(survival[1], abs=0.05)


def test_drift_inside_a_request_is_followed():
    """From 9 in 10 to 2 in 10 and back: half of the way within 60 rounds, two thirds within 100."""
    rng, rows, estimator = np.random.default_rng(10), view(range(16)), AcceptanceEstimator(CANDIDATES)
    play(estimator, rows, [0.9] * 16, 200, rng)
    play(estimator, rows, [0.2] * 16, 60, rng)
    assert first(estimator, rows).mean() < 0.56
    play(estimator, rows, [0.2] * 16, 40, rng)
    assert first(estimator, rows).mean() < 0.45
    play(estimator, rows, [0.9] * 16, 100, rng)
    assert first(estimator, rows).mean() > 0.65


def test_any_slot_number_will_do():
    """Room is made as they come; what is known stays."""
    rng, rows, estimator = np.random.default_rng(11), view([0, 3]), AcceptanceEstimator(CANDIDATES)
    play(estimator, rows, [0.95, 0.1], 60, rng)
    before = estimator.survival(rows)
    assert np.isfinite(estimator.survival(view([20_000]))).all()
    assert np.array_equal(estimator.survival(rows), before)
    tell(estimator, view([70_000]), 3, [1])
    assert np.isfinite(estimator.survival(view([0, 70_000]))).all()


def test_forget_drops_the_request_and_keeps_what_it_taught():
    """The slot's next request is at the pool's level; slots never seen may be forgotten too."""
    rng, rows, estimator = np.random.default_rng(12), view(range(8)), AcceptanceEstimator(CANDIDATES)
    play(estimator, rows, [0.9] * 7 + [0.05], 150, rng)
    stranger = first(estimator, view([50]))
    assert first(estimator, rows)[7] < 0.3
    estimator.forget(np.array([7, 90_000]))
    assert first(estimator, rows)[7] == stranger[0] > 0.6


def test_predictions_come_true():
    """Mixed requests, lag 2, depths that vary: prediction meets frequency by position and by sureness."""
    rng, rows = np.random.default_rng(13), view(range(64))
    estimator, level = AcceptanceEstimator(CANDIDATES), rng.beta(6, 2.5, 64)
    chance, late, predicted, passed = np.broadcast_to(level[:, None], (64, 7)), [], [], []
    for turn in range(300):
        survival = estimator.survival(rows)[:, 0]
        depth = (1, 3, 5, 7)[turn % 4]
        chain = chains(rng, chance)
        if turn >= 60:
            predicted.append(survival)
            passed.append(chain[:, None] > np.arange(7))
        late.append((depth, np.minimum(chain, depth)))
        if len(late) > 2:
            tell(estimator, rows, *late.pop(0))
    predicted, passed = np.concatenate(predicted), np.concatenate(passed)
    assert np.abs(predicted.mean(axis=0) - passed.mean(axis=0)).max() < 0.02
    for low in np.arange(0.1, 0.9, 0.1):
        sure = (predicted >= low) & (predicted < low + 0.1)
        assert sure.sum() > 500 and abs(predicted[sure].mean() - passed[sure].mean()) < 0.06


def test_state_comes_back_and_another_shape_is_refused():
    """A loaded estimator goes on as the saved one does."""
    rng, rows = np.random.default_rng(14), view(range(8))
    one, other = AcceptanceEstimator(WINDOWED), AcceptanceEstimator(WINDOWED)
    play(one, rows, [0.7] * 8, 53, rng, window=512)
    other.load_state(one.state_dict())
    for estimator in (one, other):
        play(estimator, rows, [0.4] * 8, 30, np.random.default_rng(15))
    assert np.array_equal(one.survival(rows), other.survival(rows))
    for bad in (AcceptanceEstimator(Candidates((0, 3))).state_dict(), {**one.state_dict(), "version": 2}):
        with pytest.raises(ValueError):
            one.load_state(bad)


@pytest.mark.parametrize(
    "bad", [{"slow_decay": 0.0}, {"optimism": 1.5}, {"pool_weight": 0.0}, {"prior_failure": 1.0}], ids=str
)
def test_parameters_that_mean_nothing_are_refused(bad):
    """Named in the message."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        AcceptanceConfig(**bad)
