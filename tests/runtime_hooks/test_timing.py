"""What a round's seconds are, and which are a sample."""

import pytest

from adaptive_depth.runtime_hooks.events import Mark
from adaptive_depth.runtime_hooks.timing import HostStages, Pace, stages_for


def steady(pace, start, rounds=3, seconds=0.01):
    """Rounds one after the other; the time after them."""
    for number in range(rounds):
        mark = pace.launched(start + number * seconds, 3, 1)
        pace.result(start + number * seconds, start + (number + 1) * seconds, mark)
    return start + rounds * seconds


def test_steady_rounds_are_timed_from_result_to_result():
    """The gap between result and launch belongs to the round: the host's work is part of its price."""
    pace = Pace()
    now = steady(pace, 100.0)
    assert pace.launched(now + 0.002, 3, 1) == Mark.NONE
    assert pace.result(now + 0.002, now + 0.012, Mark.NONE) == pytest.approx(0.012)


def test_overlapped_rounds_are_timed_by_the_device():
    """Launched before the previous result came: the time between the results counts, not since the launch."""
    pace = Pace()
    now = steady(pace, 100.0)
    mark = pace.launched(now - 0.005, 3, 1)
    assert pace.result(now - 0.005, now + 0.01, mark) == pytest.approx(0.01)


def test_first_rounds_of_a_shape_prefills_and_pauses_are_marked():
    """None of them says what the next round takes; after a prefill or a pause time counts from the launch."""
    pace = Pace()

    def run(start, batch=1):
        mark = pace.launched(start, 3, batch)
        return mark, pytest.approx(pace.result(start, start + 0.01, mark))

    assert run(1.0) == (Mark.FIRST_GRAPH, 0.01)
    assert run(1.01, batch=2) == (Mark.FIRST_GRAPH, 0.01)
    pace.prefill()
    assert run(1.03) == (Mark.PREFILL, 0.01)
    assert run(1.04) == (Mark.NONE, 0.01)
    assert run(9.0) == (Mark.STALL, 0.01)
    assert run(9.015) == (Mark.NONE, 0.015)


def test_stages_on_the_host():
    """Each stage that ran has its seconds, and its result is passed on."""
    clock = stages_for("cpu")()
    assert isinstance(clock, HostStages)
    assert clock.run("verify", lambda: 42) == 42
    assert clock.seconds().keys() == {"verify"} and clock.seconds()["verify"] >= 0
