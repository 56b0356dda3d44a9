"""llama.cpp logs: one line a request, two wordings."""

import numpy as np
import pytest

NAME = "llama-cpp-log"
NEW = (
    "slot: draft acceptance = 0.64479 ( 167 accepted / 259 generated), mean acceptance length = 2.92, "
    "acceptance rate per position = (0.844, 0.644, 0.430)\n"
)
OLD = "draft acceptance rate = 0.57576 (  171 accepted /   297 generated)\n"


def test_both_wordings(source):
    """Counts come from either; the older one has no mean length."""
    block = source.block(NEW + OLD, NAME)
    assert block.accepted.tolist() == [167, 171] and block.drafted.tolist() == [259, 297]
    np.testing.assert_equal(block.accept_length, [2.92, np.nan])
    np.testing.assert_equal(block.per_position, [[0.844, 0.644, 0.430], [np.nan] * 3])


def test_adaptive_lines_set_the_depth_from_then_on(source):
    """Unknown before the first change, the new depth after it."""
    change = "adaptive draft depth seq 0: 7 -> 6 (n_draft=7, n_accepted=4, x)\n"
    assert source.block(OLD + change + OLD, NAME).depth.tolist() == [-1, 6]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (OLD.replace("171", "298"), "accepted 298 of 297"),
        (OLD.replace("171", "nan"), "without '( A accepted"),
        (NEW.replace("0.844", "1.844"), "no acceptance rate"),
        (NEW.replace("0.844", "0.8.4"), "no acceptance rate"),
    ],
)
def test_lines_that_cannot_be_true_are_named(source, bad, reason):
    """Named with its line; the others survive."""
    imported = source.read(NEW + bad, NAME)
    assert [len(block.depth) for _, block in imported.traces] == [1]
    assert [p.line for p in imported.problems] == [2] and reason in imported.problems[0].reason
