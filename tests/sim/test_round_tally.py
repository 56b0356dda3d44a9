"""Running sums over rounds agree with their textbook definitions, however the blocks are cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_depth.sim.round_tally import MIN_ROUNDS, AcceptanceTally, RoundTally

REQUESTS = st.lists(st.lists(st.integers(1, 8), max_size=40), min_size=1, max_size=6)


def tally_of(requests, per_block, ordered=True):
    tally = RoundTally(ordered)
    for i in range(0, len(requests), per_block):
        part = requests[i : i + per_block]
        start = np.cumsum([0, *map(len, part)])
        tally.add(np.array([x for one in part for x in one], np.int32), start)
    return tally.result()


@settings(max_examples=200, deadline=None)
@given(REQUESTS, st.integers(1, 6))
def test_correlation_and_means_by_definition(requests, per_block):
    """Pooled: about one global mean. Within, and the percentiles: long requests, about their own mean."""
    got = tally_of(requests, per_block)
    flat = np.array([x for one in requests for x in one], float)
    assert (got.rounds, got.tokens) == (len(flat), flat.sum())
    pairs = [(a, b) for one in requests for a, b in itertools.pairwise(one)]
    if pairs and flat.std() > 0:
        mean = flat.mean()
        want = np.mean([(a - mean) * (b - mean) for a, b in pairs]) / flat.var()
        assert got.autocorrelation_pooled == pytest.approx(want, abs=1e-9)
    long = [np.array(one, float) for one in requests if len(one) >= MIN_ROUNDS]
    assert got.long_requests == len(long)
    if long:
        assert got.request_mean_p10 == pytest.approx(np.percentile([x.mean() for x in long], 10))
        centred = [x - x.mean() for x in long]
        below = sum((x**2).sum() for x in centred)
        if below > 1e-9:
            want = sum((x[1:] * x[:-1]).sum() for x in centred) / below
            assert got.autocorrelation_within == pytest.approx(want, abs=1e-9)


def test_constant_and_short_sequences_have_no_correlation():
    """Without variance, pairs or long requests the figures are unknown, not zero."""
    constant = tally_of([[3] * 30], 1)
    assert constant.autocorrelation_pooled is None
    assert constant.autocorrelation_within is None
    short = tally_of([[1], [2], []], 2)
    assert short.autocorrelation_pooled is None
    assert short.request_mean_p10 is None
    assert tally_of([[]], 1).accept_length is None


def test_lost_order_means_no_correlation():
    """A histogram has rounds but no order: accept length is known, correlation is not."""
    got = tally_of([[1, 5] * 20], 1, ordered=False)
    assert got.accept_length == 3
    assert got.autocorrelation_pooled is None
    assert got.autocorrelation_within is None


def test_only_reached_positions_count():
    """Rounds of depth 1 say nothing of draft 2; rounds at their cap are marked "at least"."""
    tally = AcceptanceTally()
    tally.add(np.array([1, 1, 1, 1]), np.array([1, 1, 1, 0]))
    tally.add(np.array([3, 3, 0, -1]), np.array([2, 0, 0, 5]))
    one, two, three = tally.result()
    assert (one.reached, one.accepted, one.censored) == (6, 4, 3)
    assert (two.reached, two.accepted, two.censored) == (1, 1, 0)
    assert (three.reached, three.accepted, three.censored) == (1, 0, 0)
    assert two.marginal == pytest.approx(4 / 6)
    assert three.marginal == 0
    assert tally.at_cap() == pytest.approx(3 / 6)
    assert tally.accepted_histogram() == (3, 3, 1, 0, 0, 1)


def test_mixed_depths_do_not_bias_the_survival():
    """Depth chosen without regard to the text leaves each position's acceptance as it is."""
    rng = np.random.default_rng(0)
    chain = np.minimum.accumulate(rng.random((200_000, 4)) < 0.7, axis=1).sum(axis=1)
    depth = rng.integers(0, 5, len(chain))
    tally = AcceptanceTally()
    tally.add(depth, np.minimum(chain, depth))
    marginal = [p.marginal for p in tally.result()]
    assert marginal == pytest.approx([0.7, 0.49, 0.343, 0.2401], abs=0.01)


def test_nothing_reached_is_unknown():
    """A position that no chain reached has no acceptance at all."""
    tally = AcceptanceTally()
    tally.add(np.array([2, 2]), np.array([0, 0]))
    one, two = tally.result()
    assert (one.conditional, one.marginal) == (0, 0)
    assert (two.conditional, two.marginal) == (None, None)
