"""The bandit: cascade feedback, sums kept apart, windows told apart."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.policies.bandit import Bandit, BanditConfig
from adaptive_depth.policies.cost_model import LinearCost
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, RoundResult

CANDIDATES = Candidates((0, 1, 2, 4), windows=(0, 512), start_depth=2)


def batch(rows: int) -> BatchView:
    zeros = np.zeros(rows, np.int32)
    return BatchView(
        np.arange(rows, dtype=np.int32), zeros, zeros.astype(np.int64) + 4000, zeros.astype(np.int64)
    )


def result(
    depth: int, accepted: list[int], window: list[int] | int = 0, seconds: float = np.nan
) -> RoundResult:
    rows = len(accepted)
    b = batch(rows)
    depths = np.full(rows, depth, np.int8)
    windows = np.broadcast_to(np.array(window, np.int32), rows)
    return RoundResult(
        0, b.slot, b.group, b.context, depths, windows, np.array(accepted, np.int8), np.array([seconds])
    )


def sums(rule: Bandit, name: str) -> list:
    return rule.state_dict()["groups"][name][0].tolist()


def test_a_round_credits_every_shallower_arm_of_its_window():
    """Depth 2 with 0 and 2 accepted: arm k' gets Σ min(a, k') + 1; deeper arms and other windows nothing."""
    rule = Bandit(BanditConfig(), CANDIDATES)
    rule.observe(result(2, [0, 2], window=512))
    assert sums(rule, "rows") == [[0, 0, 0, 0], [2, 2, 2, 0]]
    assert sums(rule, "tokens") == [[0, 0, 0, 0], [2, 3, 4, 0]]


def test_rows_of_one_group_credit_their_own_windows():
    """A window that is no candidate credits nothing."""
    rule = Bandit(BanditConfig(), CANDIDATES)
    rule.observe(result(1, [1, 0, 1], window=[0, 512, 99]))
    assert sums(rule, "tokens") == [[1, 2, 0, 0], [1, 1, 0, 0]]


def test_seconds_go_to_the_arm_that_ran_and_only_if_measured():
    """NaN and infinity are no samples; tokens fade with the rounds, seconds with theirs."""
    rule = Bandit(BanditConfig(discount=0.5), CANDIDATES)
    for seconds in (0.5, np.nan, np.inf):
        rule.observe(result(2, [1], seconds=seconds))
    assert sums(rule, "seconds") == [[0, 0, 0.125, 0], [0] * 4]
    assert sums(rule, "rounds") == [[0, 0, 0.25, 0], [0] * 4]
    assert sums(rule, "rows")[0] == [1.75, 1.75, 1.75, 0]


def test_a_ratio_of_sums_not_a_mean_of_ratios():
    """Rounds of unequal length: 3 tokens in 1 s and 1 token in 9 s are 4 tokens in 10 s."""
    rule = Bandit(BanditConfig(discount=0.999999), CANDIDATES)
    for _ in range(500):
        rule.observe(result(2, [2], seconds=1.0))
        rule.observe(result(2, [0], seconds=9.0))
    state = rule.state_dict()["groups"]
    rate = (state["tokens"][0, 0, 2] / state["rows"][0, 0, 2]) / (
        state["seconds"][0, 0, 2] / state["rounds"][0, 0, 2]
    )
    assert rate == pytest.approx(0.4, rel=1e-3)


def test_takes_the_window_that_accepts_more_at_the_same_price():
    """Only the chosen window is played, and the better one wins most rounds."""
    rule, cost, rng, played = (
        Bandit(BanditConfig(), CANDIDATES),
        LinearCost(v0=0.01, f0=0.001),
        np.random.default_rng(3),
        [],
    )
    for _ in range(1200):
        plan = rule.plan(batch(1), Estimates(None, cost))
        depth, window = int(plan.depth[0]), int(plan.window[0])
        played.append(window)
        chain = int(np.logical_and.accumulate(rng.random(4) < (0.9 if window else 0.3)).sum())
        rule.observe(result(depth, [min(chain, depth)], window=window))
    assert np.mean(np.array(played[400:]) == 512) > 0.9


def test_keeps_an_arm_for_the_dwell():
    """No two changes of depth lie closer than ``dwell`` rounds, whatever comes back."""
    rule, cost = (
        Bandit(BanditConfig(dwell=5, discount=0.9), CANDIDATES),
        LinearCost(v0=0.01, spec=0.005, f0=0.004),
    )
    depths = []
    for turn in range(600):
        plan = rule.plan(batch(1), Estimates(None, cost))
        depth = int(plan.depth[0])
        depths.append(depth)
        rule.observe(result(depth, [depth if turn // 40 % 2 else 0], window=int(plan.window[0])))
    changes = np.flatnonzero(np.diff(depths))
    assert len(changes) > 10 and np.diff(changes).min() >= 5


@pytest.mark.parametrize(
    "bad", [{"exploration": -1}, {"discount": 1.0}, {"discount": 0.0}, {"dwell": 0}], ids=str
)
def test_refuses_parameters_that_mean_nothing(bad):
    """Named in the message."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        BanditConfig(**bad)
