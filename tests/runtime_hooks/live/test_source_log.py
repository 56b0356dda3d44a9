"""Following a decision log: what is appended, rotated, begun anew, torn or deleted."""

import json
from contextlib import closing

import pytest

from adaptive_depth.runtime_hooks.live import source_log
from adaptive_depth.runtime_hooks.live.snapshot import Link
from adaptive_depth.runtime_hooks.live.source_log import LogSource

NAME = "decisions-20260101-000000-0a1b2c3d-{:04d}.jsonl"


@pytest.fixture
def follow(tmp_path):
    """A source on a folder that need not exist yet."""
    source = LogSource(tmp_path / "log")
    yield source
    source.close()


@pytest.fixture
def append(tmp_path):
    """``append(records, part=0, name=...)``: write lines to a part, as the server would."""

    def write(records, part=0, name=NAME, end="\n"):
        (tmp_path / "log").mkdir(exist_ok=True)
        text = "".join(json.dumps(record) + "\n" for record in records)
        with (tmp_path / "log" / name.format(part)).open("a") as file:
            file.write(text if end else text[:-1])

    return write


def test_what_is_appended_is_seen_at_the_next_look(follow, append, as_records, round_event):
    """Round by round, each as soon as its line is there."""
    append(as_records([round_event(0, [("a", 2)])]))
    assert follow.read(1000.1).rounds == 1
    append(as_records([round_event(1, [("a", 1)])])[1:])
    seen = follow.read(1000.1)
    assert seen.rounds == 2 and seen.requests[0].accepted == (2, 1) and seen.link is Link.LIVE


def test_half_a_line_waits_for_its_rest(follow, append, as_records, round_event, tmp_path):
    """A line that is being written is not read torn."""
    append(as_records([round_event(0, [("a", 2)])]))
    line = json.dumps(as_records([round_event(1, [("a", 1)])])[1]) + "\n"
    path = tmp_path / "log" / NAME.format(0)
    with path.open("a") as file:
        file.write(line[:40])
    assert follow.read(1000.1).rounds == 1
    with path.open("a") as file:
        file.write(line[40:])
    seen = follow.read(1000.1)
    assert seen.rounds == 2 and seen.notes == ()


def test_a_rotation_loses_nothing(follow, append, as_records, round_event):
    """The rest of the old part is read before the new one; the request goes on."""
    append(as_records([round_event(0, [("a", 2)])]))
    follow.read(1000.1)
    append(as_records([round_event(1, [("a", 1)])])[1:])
    append([{"trailer": {"records": 2, "dropped": 0}, "end": False}])
    append(as_records([round_event(2, [("a", 3)])], part=1), part=1)
    seen = follow.read(1000.1)
    assert seen.requests[0].accepted == (2, 1, 3) and seen.rounds == 3


def test_attaching_reads_the_newest_part_and_the_one_before(append, as_records, round_event, tmp_path):
    """A part that has just begun would show next to nothing."""
    for part in range(3):
        append(as_records([round_event(part, [("a", part)])], part=part), part=part)
    with closing(LogSource(tmp_path / "log")) as source:
        seen = source.read(1000.1)
    assert seen.requests[0].accepted == (1, 2)


def test_a_new_run_replaces_the_old_one(follow, append, as_records, round_event):
    """The server was started again: figures begin anew."""
    append(as_records([round_event(7, [("a", 2)])]))
    assert follow.read(1000.1).rounds == 8
    append(as_records([round_event(0, [("b", 1)])]), name="decisions-20260202-000000-99999999-{:04d}.jsonl")
    seen = follow.read(1000.1)
    assert seen.rounds == 1 and [r.name for r in seen.requests] == ["b"]


def test_a_large_part_is_entered_near_its_end(append, as_records, round_event, tmp_path, monkeypatch):
    """Attaching to a server that has run for days takes no longer than to a new one."""
    monkeypatch.setattr(source_log, "TAIL", 2000)
    append(as_records([round_event(n, [("a", 1)]) for n in range(100)]))
    with closing(LogSource(tmp_path / "log")) as source:
        seen = source.read(1000.1)
    assert seen.rounds == 100 and len(seen.requests[0].accepted) < 12
    assert seen.model == "model" and seen.notes == ()


def test_a_log_that_is_not_there_yet_comes_later(follow, append, as_records, round_event):
    """The view may be started before the server."""
    seen = follow.read(0.0)
    assert seen.link is Link.DISCONNECTED and "no decision log" in seen.notes[-1]
    append(as_records([round_event(0, [("a", 2)])]))
    assert follow.read(1000.1).link is Link.LIVE


def test_a_deleted_log_is_disconnected(follow, append, as_records, round_event, tmp_path):
    """And the last figures stay."""
    append(as_records([round_event(0, [("a", 2)])]))
    follow.read(1000.1)
    (tmp_path / "log" / NAME.format(0)).unlink()
    seen = follow.read(1000.1)
    assert seen.link is Link.DISCONNECTED and seen.rounds == 1 and "deleted" in seen.notes[-1]


def test_one_file_may_be_named(append, as_records, round_event, tmp_path):
    """A single log somebody sent is shown like a folder."""
    append(as_records([round_event(0, [("a", 2)])]), name="sent.jsonl")
    with closing(LogSource(tmp_path / "log" / "sent.jsonl")) as source:
        seen = source.read(5000.0)
    assert seen.rounds == 1 and seen.link is Link.STALE


def test_junk_between_the_lines_is_counted(follow, append, as_records, round_event, tmp_path):
    """A torn line in the midst costs itself."""
    append(as_records([round_event(0, [("a", 2)])]))
    with (tmp_path / "log" / NAME.format(0)).open("ab") as file:
        file.write(b"\x00\xff{torn\n")
    append(as_records([round_event(1, [("a", 2)])])[1:])
    seen = follow.read(1000.1)
    assert seen.rounds == 2 and seen.notes == ("1 records could not be read",)
