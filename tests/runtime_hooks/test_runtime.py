"""The runtime object: faults, listeners, counters."""

import json
import logging

import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.runtime_hooks.events import ControlEvent, FaultEvent
from adaptive_depth.runtime_hooks.runtime import MAX_FAULTS, AdaptiveRuntime


class Log:
    """A sink that keeps, or fails."""

    def __init__(self, fails=False):
        self.events, self.fails = [], fails

    def put(self, event):
        """Keep or fail."""
        self.events.append(event)
        if self.fails:
            raise OSError("full")


@pytest.fixture
def runtime(start_event):
    """A runtime over a static controller."""
    return AdaptiveRuntime(build_controller("static:3"), start_event)


def fail():
    """What a broken hook does."""
    raise KeyError("broken")


def test_a_step_that_works_passes_its_value_on(runtime):
    """Nothing is counted."""
    assert runtime.attempt("plan", lambda: 7, None) == 7
    assert runtime.counts.faults == 0 and not runtime.tripped


def test_a_fault_gives_the_fallback_and_is_told_once(runtime, caplog):
    """The server's log has one line a place, however often it fails."""
    log = Log()
    runtime.add_sink(log)
    with caplog.at_level(logging.ERROR):
        assert [runtime.attempt("plan", fail, "static") for _ in range(3)] == ["static"] * 3
    assert len(caplog.records) == 1 and "plan failed" in caplog.text
    faults = [event for event in log.events if isinstance(event, FaultEvent)]
    assert [event.count for event in faults] == [1, 2, 3]
    assert faults[0].error == "plan: KeyError: 'broken'"


def test_after_enough_faults_it_stays_static_until_turned_on(runtime):
    """The count goes on; turning on starts a new one."""
    for _ in range(MAX_FAULTS):
        assert not runtime.tripped
        runtime.attempt("feedback", fail, None)
    assert runtime.tripped and runtime.disabled
    runtime.enable(True)
    assert not runtime.tripped and runtime.counts.faults == MAX_FAULTS


def test_stop_is_at_once(runtime):
    """Ranks that disagree may not go on for another seven rounds."""
    runtime.stop("ranks", ValueError("differ"))
    assert runtime.tripped and runtime.counts.faults_by_place == {"ranks": 1}


def test_a_listener_that_fails_is_dropped_and_the_others_stay(runtime):
    """Every event reaches the good one; the bad one is asked once."""
    bad, good = Log(fails=True), Log()
    runtime.add_sink(bad)
    runtime.add_sink(good)
    runtime.force(5)
    runtime.force(None)
    assert len(bad.events) == 1 and runtime.counts.sinks_dropped == 1
    controls = [event for event in good.events if isinstance(event, ControlEvent)]
    assert [event.value for event in controls] == [5, None]


def test_status_is_plain_json(runtime, round_event):
    """For /server_info: numbers, words and lists, counters among them."""
    runtime.emit(round_event(0, [("a", 2), ("b", 1, "stale")], before=1))
    status = json.loads(json.dumps(runtime.status()))
    counts = status["counts"]
    assert (counts["rows"], counts["stale_rows"], counts["proposed"], counts["accepted"]) == (1, 1, 3, 2)
    assert counts["switches_by_reason"] == {"hold": 1} and counts["depths"] == {"3": 1}
    assert status["last_depth"] == 3 and status["active"] is False
