"""The pool: hazard by band, window and position, from censored chains of unequal requests."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.controller.hazard_pool import EDGES, HazardPool

TRUE = np.array([0.3, 0.2, 0.2, 0.1])


def pool(windows: int = 1, **changes) -> HazardPool:
    return HazardPool(
        windows, 4, **{"prior": 0.35, "optimism": 0.9, "weight": 20.0, "decay": 0.9995, **changes}
    )


def fill(target: HazardPool, rng, hazard=TRUE, *, rows=200, times=50, depth=4, cell=0, frailty=1.0) -> None:
    """Rounds in which the draft at position j fails with ``frailty · hazard[j]``; depth may differ by row."""
    factor = np.broadcast_to(np.asarray(frailty, np.float32), rows)
    deep = np.broadcast_to(np.asarray(depth), rows)
    for _ in range(times):
        passed = np.logical_and.accumulate(rng.random((rows, 4)) >= hazard * factor[:, None], axis=1).sum(
            axis=1
        )
        accepted = np.minimum(passed, deep)
        reached = np.minimum(accepted + 1, deep).astype(np.int8)
        target.add(np.full(rows, cell), reached, accepted < deep, factor, 1)


def test_before_any_data_the_hazard_falls_from_the_prior():
    """Each position is a little better than the one before, alike in every band and window."""
    hazard = pool(windows=2).hazard
    assert hazard.shape == (len(EDGES) + 1, 2, 4)
    assert np.allclose(hazard, 0.35 * 0.9 ** np.arange(4))


@pytest.mark.parametrize("depth", [4, np.tile([1, 2, 3, 4], 50)], ids=["full", "cut short"])
def test_finds_the_hazard_of_every_position(depth):
    """Chains cut short tell of the positions they reached, and of no other."""
    one = pool()
    fill(one, np.random.default_rng(0), depth=depth)
    assert np.abs(one.hazard[0, 0] - TRUE).max() < 0.02


def test_positions_never_reached_follow_the_last_one_known():
    """Times the optimism, position by position."""
    one = pool()
    fill(one, np.random.default_rng(1), depth=2)
    known = one.hazard[0, 0, 1]
    assert np.allclose(one.hazard[0, 0, 2:], [known * 0.9, known * 0.81], atol=1e-3)


def test_a_row_that_reached_nothing_counts_nowhere():
    """Depth 0 is no evidence but lets time pass."""
    one = pool(decay=1.0)
    before = one.hazard.copy()
    one.add(np.zeros(50, int), np.zeros(50, np.int8), np.zeros(50, bool), np.ones(50, np.float32), 1)
    assert np.array_equal(one.hazard, before)


def test_windows_and_bands_are_told_apart_and_help_each_other():
    """A cell's own data decides; a cell without any takes its window's, then everybody's."""
    rng, one = np.random.default_rng(2), pool(windows=2)
    lowest, long = one.cell(np.array([1000, 10**6]), np.array([0, 1]))
    fill(one, rng, TRUE, cell=lowest)
    fill(one, rng, TRUE + 0.3, cell=long)
    assert one.hazard[0, 0, 0] == pytest.approx(0.3, abs=0.03)
    assert one.hazard[-1, 1, 0] == pytest.approx(0.6, abs=0.03)
    assert one.hazard[2, 0, 0] == pytest.approx(0.3, abs=0.05)
    assert one.hazard[2, 1, 0] == pytest.approx(0.6, abs=0.05)


def test_bands_split_at_their_edges():
    """A context at an edge is in the band above."""
    assert pool().band(np.array([0, 8_191, 8_192, 600_000])).tolist() == [0, 0, 1, 4]


def test_hard_requests_do_not_make_the_positions_look_hard():
    """Half the rows fail more than the average and half less, and say so: the hazard is the average row's."""
    one = pool()
    fill(one, np.random.default_rng(3), frailty=np.tile([0.5, 1.5], 100))
    assert np.abs(one.hazard[0, 0] - TRUE).max() < 0.03


def test_what_all_requests_share_is_the_hazards_not_theirs():
    """Rows that fail 1.5 times as often on average: that is the hazard, not their frailty."""
    one = pool()
    fill(one, np.random.default_rng(3), frailty=np.tile([1.0, 2.0], 100))
    assert np.abs(one.hazard[0, 0] - 1.5 * TRUE).max() < 0.03


def test_what_is_long_past_fades():
    """New rounds outweigh old ones, and with none the fallback comes back."""
    rng, one = np.random.default_rng(5), pool(decay=0.95)
    fill(one, rng)
    fill(one, rng, TRUE + 0.4)
    assert one.hazard[0, 0, 0] == pytest.approx(0.7, abs=0.06)
    nobody = np.zeros(0)
    one.add(nobody.astype(int), nobody.astype(np.int8), nobody.astype(bool), nobody.astype(np.float32), 1000)
    assert np.allclose(one.hazard[0, 0], 0.35 * 0.9 ** np.arange(4), atol=1e-3)


def test_rounds_added_together_are_as_good_as_one_by_one():
    """But for the fading inside the bundle."""
    rng, single, bundle = np.random.default_rng(6), pool(decay=1.0), pool(decay=1.0)
    cells, ones = np.zeros(64, int), np.ones(64, np.float32)
    reached = rng.integers(1, 5, (8, 64)).astype(np.int8)
    rejected = rng.random((8, 64)) < 0.5
    for turn in range(8):
        single.add(cells, reached[turn], rejected[turn], ones, 1)
    bundle.add(np.tile(cells, 8), reached.ravel(), rejected.ravel(), np.tile(ones, 8), 8)
    assert np.allclose(single.hazard, bundle.hazard)


def test_state_comes_back_and_another_shape_is_refused():
    """The same hazard at once, and no memory shared."""
    one, other = pool(windows=2), pool(windows=2)
    fill(one, np.random.default_rng(7))
    state = one.state_dict()
    other.load_state(state)
    assert np.array_equal(one.hazard, other.hazard)
    fill(other, np.random.default_rng(8), TRUE + 0.3)
    again = pool(windows=2)
    again.load_state(state)
    assert np.array_equal(one.hazard, again.hazard)
    with pytest.raises(ValueError, match="shape"):
        pool(windows=1).load_state(state)
