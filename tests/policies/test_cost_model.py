"""The additive cost model: its formula, its shapes and its monotonicity."""

import timeit
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive_depth.policies.cost_model import COEFFICIENTS, LinearCost, Load, round_features

LADDER = np.arange(10, dtype=np.int8)
COEFFICIENT = st.one_of(st.just(0.0), st.floats(1e-12, 1e-2))


@st.composite
def costs(draw):
    values = {name: draw(COEFFICIENT) for name in COEFFICIENTS}
    values["v0"] = draw(st.floats(1e-4, 0.1))
    return LinearCost(extend_at_zero=draw(st.booleans()), **values)


def load(rows=1, context=1000, extend=None, reads=None):
    values = (rows, context, context if extend is None else extend, context if reads is None else reads)
    return Load(*(np.array([value], np.float64) for value in values))


def test_formula_by_hand():
    """Every term stands where the formula says, at depths 0, 1 and 4 and with two rows."""
    cost = LinearCost(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, extend_at_zero=False)
    got = cost.seconds(Load(*(np.array([v]) for v in (2, 30, 8, 5))), np.array([0, 1, 4]))
    zero = 1 + 2 + 3 * 2 + 4 * 30
    once = 6 + 8 * 8 + 9 * 4
    one = 1 + 2 + 3 * 4 + (4 + 5) * 30 + once + 7 * 4
    four = 1 + 2 + 3 * 10 + (4 + 20) * 30 + once + 7 * 10 + 3 * (10 + 11 * 2 + 12 * 5)
    assert got.tolist() == [[zero, one, four]]
    warm = replace(cost, extend_at_zero=True).seconds(
        Load(*(np.array([v]) for v in (2, 30, 8, 5))), np.array([0])
    )
    assert warm.tolist() == [[zero + 8 * 8 + 9 * 4 + 7 * 2]]


@given(costs(), st.integers(1, 64), st.integers(0, 2_000_000), st.integers(0, 9))
def test_features_times_coefficients_is_the_price(cost, rows, context, depth):
    """The features that fits use and the price that rules use are the same formula."""
    work = load(rows, context, context / 3, context / 2)
    coefficients = np.array([getattr(cost, name) for name in COEFFICIENTS])
    dotted = round_features(work, np.array([depth]), cost.extend_at_zero) @ coefficients
    assert dotted == pytest.approx(cost.seconds(work, np.array([depth]))[:, 0], rel=1e-9)


@given(costs(), st.integers(1, 64), st.integers(1, 2_000_000), st.integers(0, 2_000_000))
def test_positive_and_grows_with_depth_and_context(cost, rows, context, more):
    """Seconds are finite, above 0, and never fall with depth or context."""
    near, far = (cost.seconds(load(rows, value), LADDER) for value in (context, context + more))
    assert np.isfinite(far).all() and (near > 0).all()
    assert (np.diff(near) >= -1e-12).all()
    assert (far >= near * (1 - 1e-12)).all()


@given(costs(), st.lists(st.integers(1, 1_000_000), min_size=2, max_size=9), st.sampled_from([1, 3]))
def test_a_group_is_priced_alike_alone_and_among_others(cost, contexts, windows):
    """A group's price is bit for bit the same alone and beside other groups, with one window or several."""
    context = np.array(contexts)[:, None]
    reads = np.minimum(context, np.array([64, 4096, np.inf])[None, :windows])
    together = cost.seconds(Load(np.ones_like(context), context, reads, reads), LADDER)
    for g in range(len(contexts)):
        one = Load(np.ones((1, 1)), context[g : g + 1], reads[g : g + 1], reads[g : g + 1])
        assert np.array_equal(cost.seconds(one, LADDER)[0], together[g])


@pytest.mark.parametrize(
    "shapes", [((1,), (1,), (1,), (3,)), ((4, 1), (4, 1), (4, 3), (4, 3)), ((4, 1), (1,), (3,), (1,))]
)
def test_arrays_broadcast(shapes):
    """Loads broadcast together and the depths come last."""
    work = Load(*(np.ones(shape) for shape in shapes))
    cost = LinearCost(v0=1.0, v1=1.0, v2=1.0, x2=1.0, f2=1.0)
    assert cost.seconds(work, LADDER).shape == (*np.broadcast_shapes(*shapes), 10)
    assert (cost.seconds(work, LADDER)[..., 3] == 1 + 4 + 1 + 1 + 2).all()


def test_one_group_is_priced_in_microseconds():
    """Pricing one group for six depths stays far below a decision's budget (60 µs); it is near 5 µs."""
    cost = LinearCost(v0=0.01, v1=1e-4, v2=1e-9, v3=1e-10, spec=1e-3, x2=1e-9, x3=1e-6, f0=7e-4, f2=1e-10)
    work, depths = load(1, 1_000_000), np.array([0, 1, 2, 3, 5, 7], np.int8)
    best = min(timeit.repeat(lambda: cost.seconds(work, depths), number=200, repeat=20)) / 200
    assert best < 15e-6
