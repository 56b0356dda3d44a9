"""Folding records into snapshots: true figures a request, honest speed-up, live before anything ends."""

import math

import pytest

from adaptive_depth.runtime_hooks.events import (
    NAN,
    ControlEvent,
    FaultEvent,
    LateStagesEvent,
    Mark,
    StageSeconds,
)
from adaptive_depth.runtime_hooks.live.picture import ABSENT, Picture
from adaptive_depth.runtime_hooks.live.snapshot import Link


@pytest.fixture
def fed(as_records):
    """``fed(events, now)``: the snapshot after these events."""

    def make(events, now=1000.5):
        picture = Picture()
        picture.feed(as_records(events))
        return picture.snapshot("log", now)

    return make


def test_a_round_shows_at_once_while_no_request_has_finished(fed, round_event):
    """After the first round there are its requests, their depth, window, context and acceptance."""
    seen = fed([round_event(0, [("a", 2), ("b", 0)], window=512)])
    assert (seen.link, seen.batch, seen.rounds, seen.depth, seen.finished) == (Link.LIVE, 2, 1, 3, 0)
    assert seen.accept_length == 2.0 and (seen.model, seen.policy) == ("model", "bandit")
    one, other = seen.requests
    assert (one.name, one.depth, one.window, one.context, one.tokens) == ("a", 3, 512, 103, 4)
    assert one.accepted == (2,) and one.positions == (1.0, 1.0, 0.0) and one.accept_length == 3.0
    assert other.positions[0] == 0.0 and all(map(math.isnan, other.positions[1:]))


def test_times_are_those_of_steady_rounds(fed, round_event):
    """A round beside a prefill changes no average."""
    events = [round_event(0, [("a", 1)], seconds=0.5, marks=Mark.PREFILL), round_event(1, [("a", 1)])]
    seen = fed(events)
    assert (seen.round_ms, seen.draft_ms, seen.verify_ms, seen.extend_ms) == pytest.approx((20, 4, 12, 3))
    assert seen.plan_us == pytest.approx(100)
    assert seen.tokens_per_second == pytest.approx(2 / 0.02)
    assert seen.requests[0].tokens_per_second == pytest.approx(100)


def test_stages_that_end_late_are_filled_in(fed, round_event):
    """On a GPU draft-extend still runs when the result is taken; its time comes a round later."""
    from dataclasses import replace

    first = round_event(0, [("a", 1)])
    first = replace(first, seconds=replace(first.seconds, extend=NAN))
    late = LateStagesEvent(0, StageSeconds(draft=0.004, verify=0.012, extend=0.007))
    assert math.isnan(fed([first]).extend_ms)
    seen = fed([first, round_event(1, [("a", 1)]), late])
    assert seen.extend_ms == pytest.approx((7 + 3) / 2) and seen.round_ms == pytest.approx(20)


def test_stale_rows_belong_to_nobody(fed, round_event, forget_event):
    """A result that came after its request's end neither revives it nor counts."""
    events = [
        round_event(0, [("a", 3, "end")]),
        forget_event("a"),
        round_event(1, [("a", 0, "stale"), ("b", 1)]),
    ]
    seen = fed(events)
    assert [r.name for r in seen.requests] == ["b"] and seen.finished == 1 and seen.accept_length == 3.0


def test_a_retracted_request_is_not_finished(fed, round_event, forget_event):
    """It leaves the page and may come back."""
    seen = fed([round_event(0, [("a", 3)]), forget_event("a", "retracted")])
    assert seen.requests == () and seen.finished == 0 and seen.link is Link.IDLE


def test_a_request_whose_end_was_not_seen_goes_after_a_while(fed, round_event):
    """Records may be dropped; the page does not fill with ghosts."""
    seen = fed([round_event(0, [("ghost", 0)])] + [round_event(n, [("a", 0)]) for n in range(1, ABSENT + 2)])
    assert [r.name for r in seen.requests] == ["a"]


def test_switches_and_their_reasons(fed, round_event):
    """Counted per 1,000 rounds, the last ones named, newest first."""
    events = [
        round_event(0, [("a", 1)], before=-1),
        round_event(1, [("a", 1)], depth=5, before=3, reason="deepen"),
        round_event(2, [("a", 0)], depth=0, before=5, reason="exit"),
        round_event(3, [("a", 0)], depth=0, before=0),
    ]
    seen = fed(events)
    assert seen.switches_per_1000 == 500.0 and seen.depth_rounds == ((0, 2), (3, 1), (5, 1))
    assert [(d.round, d.before, d.after, d.reason) for d in seen.decisions] == [
        (2, 5, 0, "exit"),
        (1, 3, 5, "deepen"),
    ]


def test_speed_up_is_measured_once_depth_0_was_seen(fed, round_event):
    """Three tokens in 20 ms against one in 10 ms is 1.5; before, the cost model has to say it."""
    drafted = [round_event(n, [("a", 2)]) for n in range(20)]
    assert fed(drafted).speedup_basis == "modelled"
    idle = [round_event(n, [("a", 0)], depth=0, before=0, seconds=0.01) for n in range(20, 30)]
    seen = fed(idle + drafted)
    assert seen.speedup_basis == "measured"
    kept, spent, zero = 20 * 3 + 10, 20 * 0.02 + 10 * 0.01, 0.01
    assert seen.speedup == pytest.approx(kept / spent * zero)


def test_an_old_measurement_of_depth_0_no_longer_counts(fed, round_event):
    """A thousand rounds later it was another load: the model speaks again."""
    idle = [round_event(n, [("a", 0)], depth=0, before=0, seconds=0.01) for n in range(10)]
    assert fed([*idle, *(round_event(n, [("a", 2)]) for n in range(1020, 1300))]).speedup_basis == "modelled"
    assert fed([*idle, *(round_event(n, [("a", 2)]) for n in range(600, 900))]).speedup_basis == "measured"


def test_a_net_loss_shows_although_drafts_are_accepted(fed, round_event):
    """Acceptance length 1.5 at twice the time of depth 0 is no gain."""
    idle = [round_event(n, [("a", 0)], depth=0, before=0, seconds=0.01) for n in range(10)]
    drafted = [round_event(n, [("a", n % 2)]) for n in range(10, 50)]
    seen = fed(idle + drafted)
    assert seen.accept_length > 1.3 and seen.speedup < 1


def test_speed_up_is_unknown_without_model_and_measurement(round_event, as_records):
    """A policy this release cannot price leaves it unknown."""
    records = as_records([round_event(0, [("a", 2)])])
    records[0]["config"]["policy"]["cost"] = "somewhere/else.json"
    picture = Picture()
    picture.feed(records)
    assert math.isnan(picture.snapshot("log", 1000.1).speedup)


def test_stale_ended_and_idle(round_event, as_records):
    """No news from running requests is stale; a closing trailer is the end; nothing running is idle."""
    picture = Picture()
    picture.feed(as_records([round_event(0, [("a", 2)])]))
    assert picture.snapshot("log", 1000.1).link is Link.LIVE
    stale = picture.snapshot("log", 1060.02)
    assert stale.link is Link.STALE and stale.age_s == pytest.approx(60)
    picture.feed([{"trailer": {"records": 1, "dropped": 3, "faults": 2}, "end": False}])
    seen = picture.snapshot("log", 1000.1)
    assert (seen.link, seen.dropped, seen.failures) == (Link.LIVE, 3, 2)
    picture.feed([{"trailer": {}, "end": True}])
    assert picture.snapshot("log", 1060.0).link is Link.ENDED


def test_operators_and_faults(fed, round_event):
    """A forced depth, adapting switched off, faults: all on the page."""
    events = [
        round_event(0, [("a", 2)]),
        ControlEvent(1.0, "force", 1, 3),
        FaultEvent(1.0, "plan", "ValueError: x", 2, False),
        ControlEvent(1.0, "enable", False, 4),
    ]
    seen = fed(events)
    assert (seen.forced, seen.disabled, seen.failures) == (1, True, 2)
    assert (
        fed([*events, ControlEvent(1.0, "force", None, 5), ControlEvent(1.0, "enable", True, 6)]).forced
        is None
    )


@pytest.mark.parametrize(
    "bad", [None, 3, {}, {"round": 1}, {"round": 1, "rows": [[1]]}, {"forget": 3, "rids": 4}]
)
def test_a_bad_record_is_counted_and_costs_only_itself(bad, round_event, as_records):
    """Half-written or foreign lines do not stop the view."""
    picture = Picture()
    picture.feed([*as_records([round_event(0, [("a", 2)])]), bad, *as_records([round_event(1, [("a", 2)])])])
    seen = picture.snapshot("log", 1000.1)
    assert seen.rounds == 2
    assert any("could not be read" in note for note in seen.notes) or bad in ({}, {"forget": 3, "rids": 4})


def test_names_lose_what_could_steer_a_terminal(fed, round_event):
    """A request's id comes from a client: escapes and line ends do not reach the screen."""
    (request,) = fed([round_event(0, [("a\x1b[2J\nb", 1)])]).requests
    assert request.name == "a?[2J?b"


def test_a_newer_log_is_refused_by_name(as_records):
    """The view says which versions do not fit."""
    records = as_records([])
    records[0]["version"] = 9
    picture = Picture()
    picture.feed(records)
    assert "version 9" in picture.snapshot("log", 0.0).notes[0]
