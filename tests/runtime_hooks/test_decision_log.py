"""The decision log: whole lines in bounded parts, honest counts, and never in the way of the decode loop."""

import errno
import json
import logging
import os
import statistics
import threading
import time

import pytest

from adaptive_depth.runtime_hooks import log_parts
from adaptive_depth.runtime_hooks.decision_log import DecisionLog
from adaptive_depth.traces.importers import recognise


def records(folder):
    """All records of a folder by part, in order."""
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in sorted(folder.iterdir())]


def wait_for(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def log_in(tmp_path, start_event):
    """``log_in(folder, **settings)``: a started log, closed at the end of the test."""
    made = []

    def make(folder=tmp_path / "log", **settings):
        log = DecisionLog(folder, **{"retry_s": 0.05, **settings})
        made.append(log)
        log.put(start_event)
        return log

    yield make
    for log in made:
        log.close()


def test_a_run_is_a_header_its_records_and_a_trailer(log_in, tmp_path, round_event, forget_event):
    """Everything that was put, in order, between the configuration and the counts."""
    log = log_in()
    log.put(round_event(0, [("a", 2), ("b", 0, "end")]))
    log.put(forget_event("b"))
    log.close()
    ((header, played, forgotten, trailer),) = records(tmp_path / "log")
    assert header["log"] == "adaptive-depth-decisions" and header["config"]["tiers"] == [0, 1, 3, 5]
    assert played["rows"] == [["a", 0, 100, 1, 0, 3, 2, 3, 0], ["b", 1, 100, 1, 0, 3, 0, 1, 1]]
    assert forgotten["forget"] == [0] and forgotten["why"] == "finished"
    assert trailer["trailer"] == {"records": 2, "dropped": 0, "rounds": 1, "faults": 0} and trailer["end"]


def test_unknown_seconds_become_null(log_in, tmp_path, round_event):
    """NaN is no JSON; the sample keeps every digit, for a controller is fed with it again."""
    log = log_in()
    log.put(round_event(0, [("a", 1)], seconds=float("nan")))
    log.put(round_event(1, [("a", 1)], seconds=1 / 3))
    log.close()
    _, first, second, _ = records(tmp_path / "log")[0]
    assert first["seconds"][0] is None and first["sample"] is None and second["sample"] == 1 / 3


def test_a_full_part_is_closed_and_the_next_begun(log_in, tmp_path, round_event):
    """Every part stands alone, bounded in size, and together they import as one run without a problem."""
    log = log_in(part_bytes=4000)
    for number in range(100):
        log.put(round_event(number, [("a", 1), ("b", 3)]))
        if number % 10 == 0:
            time.sleep(0.06)
    log.close()
    parts = records(tmp_path / "log")
    assert len(parts) > 2
    assert all("log" in part[0] and "trailer" in part[-1] for part in parts)
    assert [part[0]["part"] for part in parts] == list(range(len(parts)))
    first = min((tmp_path / "log").iterdir())
    imported = recognise(first).read(first)
    assert imported.problems == [] and sum(len(b.depth) for _, b in imported.traces) == 200


def test_only_the_newest_parts_stay(log_in, tmp_path, round_event):
    """A server that runs for months does not fill the disk with its log."""
    log = log_in(part_bytes=500, kept_parts=2)
    for number in range(40):
        log.put(round_event(number, [("a", 1)]))
        time.sleep(0.01)
    log.close()
    assert len(list((tmp_path / "log").iterdir())) <= 2


def test_an_idle_server_has_a_closed_log(log_in, tmp_path, round_event, monkeypatch):
    """A killed server writes no last word, so the trailer is there whenever it went quiet."""
    monkeypatch.setattr("adaptive_depth.runtime_hooks.decision_log.IDLE_S", 0.1)
    log = log_in()
    log.put(round_event(0, [("a", 2)]))
    wait_for(lambda: (tmp_path / "log").exists() and "trailer" in records(tmp_path / "log")[0][-1])
    assert not records(tmp_path / "log")[0][-1]["end"]
    log.put(round_event(1, [("a", 2)]))
    log.close()
    assert [next(iter(r)) for r in records(tmp_path / "log")[0]] == [
        "log",
        "round",
        "trailer",
        "round",
        "trailer",
    ]


def test_a_full_disk_costs_records_and_one_warning(log_in, tmp_path, round_event, monkeypatch, caplog):
    """Drops are counted, no line is torn, and once there is room again writing goes on in the same file."""
    full = threading.Event()
    real = os.write

    def write(file, data):
        if full.is_set():
            real(file, bytes(data)[:7])  # a disk fills up in the middle of a line
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(log_parts.os, "write", write)
    log = log_in()
    log.put(round_event(0, [("a", 2)]))
    wait_for(lambda: log.status()["records"] == 1)
    full.set()
    with caplog.at_level(logging.WARNING):
        for number in range(1, 200):
            log.put(round_event(number, [("a", 2)]))
            time.sleep(0.03)
            if log.dropped >= 5:
                break
    assert [r.levelname for r in caplog.records] == ["WARNING"] and "No space left" in caplog.text
    full.clear()
    time.sleep(0.15)
    log.put(round_event(number + 1, [("a", 2)]))
    log.close()
    (part,) = records(tmp_path / "log")
    assert part[-1]["trailer"]["dropped"] == log.dropped >= 5
    kept = [r["round"] for r in part if "round" in r]
    assert kept[0] == 0 and kept[-1] == number + 1
    assert "No space left" in log.status()["last_error"]


def test_a_folder_that_cannot_be_made_costs_records_only(log_in, tmp_path, round_event):
    """The path leads through a file: nothing is raised, everything is counted."""
    (tmp_path / "file").write_text("")
    log = log_in(tmp_path / "file" / "log")
    for number in range(3):
        log.put(round_event(number, [("a", 2)]))
    wait_for(lambda: log.dropped == 3)
    assert log.status()["records"] == 0


def test_a_deleted_log_is_begun_anew(log_in, tmp_path, round_event):
    """Somebody cleans up while the server runs: the next records go into a new part."""
    log = log_in()
    log.put(round_event(0, [("a", 2)]))
    wait_for(lambda: log.status()["records"] == 1)
    next((tmp_path / "log").iterdir()).unlink()
    log.put(round_event(1, [("a", 2)]))
    log.close()
    (part,) = records(tmp_path / "log")
    assert "log" in part[0] and part[1]["round"] == 1


def test_a_queue_that_is_full_drops_and_counts(log_in, tmp_path, round_event, monkeypatch):
    """A writer that hangs holds nobody up and memory stays bounded."""
    hold = threading.Event()
    real = os.write
    monkeypatch.setattr(log_parts.os, "write", lambda file, data: hold.wait(5) and real(file, data))
    log = log_in(queue_limit=10)
    log.put(round_event(0, [("a", 2)]))
    time.sleep(0.15)
    for number in range(1, 31):
        log.put(round_event(number, [("a", 2)]))
    assert log.dropped == 20 and log.status()["waiting"] == 10
    hold.set()
    log.close()
    assert records(tmp_path / "log")[0][-1]["trailer"] | {"faults": 0} == {
        "records": 11,
        "dropped": 20,
        "rounds": 11,
        "faults": 0,
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_dead_writer_is_seen_and_harms_nobody(log_in, round_event, monkeypatch):
    """The thread dies of something nobody thought of; put goes on and the status says so."""
    monkeypatch.setattr("adaptive_depth.runtime_hooks.decision_log.record", lambda event: 1 / 0)
    log = log_in(queue_limit=5)
    log.put(round_event(0, [("a", 2)]))
    wait_for(lambda: not log.status()["writer_alive"])
    for number in range(9):
        log.put(round_event(number, [("a", 2)]))
    assert log.dropped == 4
    log.close()


def test_putting_costs_the_decode_loop_microseconds(log_in, round_event):
    """The median call is far below a thousandth of any round, with the writer busy beside it."""
    log = log_in()
    event = round_event(0, [(f"r{i}", 2) for i in range(8)])
    spent = []
    for _ in range(3000):
        start = time.perf_counter()
        log.put(event)
        spent.append(time.perf_counter() - start)
    assert statistics.median(spent) < 20e-6
