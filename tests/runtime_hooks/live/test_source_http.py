"""Asking a server: new records once, gaps said, and a server that is away or without the plugin."""

import json

import pytest

from adaptive_depth.runtime_hooks.live.snapshot import Link
from adaptive_depth.runtime_hooks.live.source_http import HttpSource
from adaptive_depth.runtime_hooks.recent import Recent


@pytest.fixture
def server(start_event):
    """A server that holds a few recent events; ``answer`` may be replaced."""

    class Server:
        def __init__(self):
            self.recent = Recent(events=4)
            self.recent.put(start_event)
            self.asked = []
            self.failure = None
            self.ranks = 1

        def fetch(self, url):
            self.asked.append(url)
            if self.failure:
                raise self.failure
            state = {"active": True, "disabled": False, "controller": {"forced_depth": 1, "failures": 1}}
            state |= {"counts": {"faults": 2}, "recent": json.loads(json.dumps(self.recent.state()))}
            return {"internal_states": [{"adaptive_depth": state}] * self.ranks}

    return Server()


def test_each_record_is_taken_once(server, round_event):
    """Two looks at the same rounds count them once."""
    source = HttpSource("http://x:1/", server.fetch)
    server.recent.put(round_event(0, [("a", 2)]))
    source.read(1000.1)
    server.recent.put(round_event(1, [("a", 1)]))
    seen = source.read(1000.1)
    assert seen.requests[0].accepted == (2, 1) and seen.link is Link.LIVE and seen.notes == ()
    assert server.asked == ["http://x:1/server_info"] * 2
    assert (seen.forced, seen.failures, seen.policy) == (1, 3, "bandit")


def test_rounds_that_were_missed_are_said(server, round_event):
    """The server keeps only so many; what lay between is not passed over in silence."""
    source = HttpSource("http://x:1", server.fetch)
    server.recent.put(round_event(0, [("a", 2)]))
    source.read(1000.1)
    for number in range(1, 11):
        server.recent.put(round_event(number, [("a", 2)]))
    assert "6 records came and went unseen" in source.read(1000.1).notes[0]


def test_a_restarted_server_begins_anew(server, round_event, start_event):
    """Another run, another picture."""
    source = HttpSource("http://x:1", server.fetch)
    server.recent.put(round_event(5, [("a", 2)]))
    assert source.read(1000.1).rounds == 6
    server.recent = Recent()
    server.recent.put(start_event)
    server.recent.put(round_event(0, [("b", 2)]))
    seen = source.read(1000.1)
    assert seen.rounds == 1 and [r.name for r in seen.requests] == ["b"]


@pytest.mark.parametrize(
    "failure", [ConnectionRefusedError(111, "Connection refused"), ValueError("no JSON")]
)
def test_a_server_that_is_away_is_a_state(server, round_event, failure):
    """The last figures stay, the reason is there, and it comes back by itself."""
    source = HttpSource("http://x:1", server.fetch)
    server.recent.put(round_event(0, [("a", 2)]))
    source.read(1000.1)
    server.failure = failure
    seen = source.read(1000.1)
    assert seen.link is Link.DISCONNECTED and seen.rounds == 1 and "no answer" in seen.notes[-1]
    server.failure = None
    assert source.read(1000.1).link is Link.LIVE


@pytest.mark.parametrize("info", [{}, {"internal_states": [{}]}, {"internal_states": None}, [], None])
def test_a_server_without_the_plugin_is_told_so(info):
    """No figures are made up."""
    seen = HttpSource("http://x:1", lambda url: info).read(0.0)
    assert seen.link is Link.DISCONNECTED and "without --adaptive-depth" in seen.notes[-1]


def test_several_ranks_are_said(server, round_event):
    """The first is shown."""
    server.ranks = 2
    server.recent.put(round_event(0, [("a", 2)]))
    assert "rank 0 of 2" in HttpSource("http://x:1", server.fetch).read(1000.1).notes
