"""Accept length while an import runs: over rounds, at any moment, and plain about an idle drafter."""

import numpy as np
import pytest

from adaptive_depth.sim.import_tally import Tally
from adaptive_depth.traces.records import DenseBlock, RoundsBlock


def rounds(accepted, depth=5):
    """One request of the given accepted counts."""
    accepted = np.asarray(accepted, np.int32)
    count, flat = len(accepted), np.zeros(len(accepted), np.int32)
    one, start = np.array([count]), np.array([0, count])
    depths = np.full(count, depth, np.int32)
    seconds = np.full(count, np.nan)
    return RoundsBlock(
        ("r",), ("w",), ("x",), one, one, start, flat, depths, flat, accepted, accepted + 1, seconds, flat - 1
    )


def test_known_before_any_request_has_finished_and_exact_at_the_end():
    """Four rounds give 1.25 at once; 271,001 tokens in 83,803 rounds give 3.2338."""
    tally = Tally()
    tally.add(rounds([0, 1, 0, 0]))
    assert tally.accept_length == 1.25
    rest = np.full(83_803 - 4, 2)
    rest[: 271_001 - 5 - 3 * len(rest)] += 1
    tally.add(rounds(rest))
    assert (tally.tokens, tally.rounds) == (271_001, 83_803)
    assert tally.accept_length == pytest.approx(3.2338, abs=5e-5)


@pytest.mark.parametrize(
    ("accepted", "depth", "idle"),
    [
        ([0] * 100, 5, True),  # a checkpoint without a draft head
        ([0] * 96 + [1] * 4, 5, True),  # fed from the wrong layers
        ([0] * 90 + [1] * 10, 5, False),  # hard text
        ([0] * 100, 0, False),  # nothing was drafted
        ([0] * 99, 5, False),  # too few to say
        ([0] * 100, -1, True),  # depth unknown
    ],
)
def test_an_idle_drafter_is_told_from_hard_text(accepted, depth, idle):
    """An accept length of 1.0 after 100 drafting rounds is a verdict of its own."""
    tally = Tally()
    tally.add(rounds(accepted, depth))
    assert tally.drafter_idle is idle


def test_a_dense_set_is_played_at_its_full_chain():
    """Rounds, not positions, count; the last round is clipped to the output."""
    start = np.array([0, 4])
    block = DenseBlock(("r",), ("w",), ("x",), np.array([1]), start, np.array([[2, 0, 0, 3]], np.int8))
    tally = Tally()
    tally.add(block)
    assert (tally.items, tally.rounds, tally.tokens) == (4, 2, 4)
