"""What a printed accept rate may mean: only a single reading over all lines is believed."""

import pytest

from adaptive_depth.traces.importers.accept_rate import EraFinder


def reading(*lines):
    finder = EraFinder()
    for line in lines:
        finder.add(*line)
    return finder.reading()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ((2.47, 0.82), ("C", 2)),  # accept length over a width of 3
        ((2.20, 0.73), ("C", 2)),
        ((3.05, 0.68), ("D", 3)),
        ((5.60, 0.66), ("D", 7)),
        ((2.70, 0.57), ("D", 3)),
        ((2.60, 1.30), ("B", 2)),  # a rate above 1 was only ever printed by B
    ],
)
def test_pairs_seen_in_public_logs(line, expected):
    """Each pair has one reading, and it is the one its build is known to have used."""
    assert reading(line) == expected


@pytest.mark.parametrize("line", [(1.32, 0.11), (1.00, 0.00), (9.99, 0.01), (2.47, 0.99)])
def test_ambiguous_or_impossible_pairs_stay_unknown(line):
    """(1.32, 0.11) fits depth 3 of today and a width of 12 of before; nothing is guessed."""
    assert reading(line) is None


def test_more_lines_decide_and_contradictions_undo():
    """A second line removes the wrong reading; lines of two servers leave none."""
    assert reading((1.32, 0.11), (2.70, 0.57)) == ("D", 3)
    assert reading((2.47, 0.82), (3.05, 0.68)) is None


def test_days_on_which_two_definitions_ran():
    """In October 2025 the same pair may come from a B build of depth 3 or a C build of width 3."""
    assert reading((2.47, 0.82, "2025-10-10")) is None
    assert reading((2.47, 0.82, "2025-12-01")) == ("C", 2)


def test_no_lines_no_reading():
    """Nothing printed (era A, or no speculation) says nothing."""
    assert reading() is None
