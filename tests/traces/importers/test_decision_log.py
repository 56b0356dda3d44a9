"""Decision logs of our plugin: true depths and windows per request, one set a run, honest ends."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from adaptive_depth.sim.import_folder import import_all
from adaptive_depth.traces.importers import recognise
from adaptive_depth.traces.store import TraceReader

NAME = "decision-log"
SAMPLE = Path(__file__).parents[2] / "vectors" / "importers" / f"{NAME}.jsonl"


@pytest.fixture
def lines():
    """The records of the sample: header, four rounds with a forced one, two ends, a trailer."""
    return [json.loads(line) for line in SAMPLE.read_text().splitlines()]


def rounds_of(block, name):
    row = block.request_id.index(name)
    piece = slice(block.start[row], block.start[row + 1])
    names = ("position", "depth", "window", "accepted", "emitted", "batch")
    return {column: getattr(block, column)[piece].tolist() for column in names}


def test_every_round_keeps_its_true_depth_window_and_batch(source, lines):
    """Rows of one round go to their requests; a row that came after the end is left out."""
    ((header, block),) = source.sets(lines, NAME).values()
    assert rounds_of(block, "a") == {
        "position": [1, 4, 8],
        "depth": [3, 3, 1],
        "window": [0, 0, 0],
        "accepted": [2, 3, 1],
        "emitted": [3, 4, 1],
        "batch": [1, 2, 2],
    }
    assert rounds_of(block, "b[1]")["window"] == [512] * 3
    assert dict(zip(block.request_id, block.stop_reason, strict=True)) == {"a": "finished", "b[1]": "aborted"}
    assert block.context.tolist() == [9, 700] and block.output_tokens.tolist() == [9, 5]
    assert header.windows == (0, 512) and header.sink == 16 and header.k_max == 3 and header.ordered
    assert (header.origin, header.model, header.engine) == ("recorded", "tiny-mimo", "sglang 0.5.23")


def test_marked_rounds_have_no_seconds(source, lines):
    """A round beside a prefill is no timing sample; a steady one is."""
    block = source.block(lines, NAME)
    seconds = dict(zip(block.request_id, np.split(block.seconds, block.start[1:-1]), strict=True))["a"]
    assert math.isnan(seconds[0]) and seconds[1:].tolist() == [0.03, 0.03]


@pytest.mark.parametrize(("told", "position"), [(8, [1, 8]), (2, [1, 4])])
def test_positions_leap_over_rounds_that_were_dropped(source, lines, told, position):
    """The count the controller was given sets the position right; one that lags, under overlap, does not."""
    del lines[2]
    lines[3]["rows"][0][3] = told
    lines[-1]["trailer"] |= {"records": 7, "dropped": 1}
    ((_, block),) = (imported := source.read(lines, NAME)).traces
    assert rounds_of(block, "a")["position"] == position and rounds_of(block, "b[1]")["position"] == [2, 4]
    assert [p.reason for p in imported.problems] == [
        "1 records of the run were dropped before they were written"
    ]


@pytest.mark.parametrize(
    ("cut", "reason"),
    [(1, "does not end in a trailer"), (30, "does not end in a trailer")],
)
def test_a_log_without_its_trailer_says_so(source, lines, cut, reason):
    """A server that was killed, with or without a torn last line; nothing before is lost."""
    content = "".join(json.dumps(record) + "\n" for record in lines[:-1])
    imported = source.read(content[:-cut] if cut > 1 else content, NAME)
    assert reason in imported.problems[-1].reason
    assert len(imported.problems) == (2 if cut > 1 else 1)
    assert sum(block.requests for _, block in imported.traces) == 2


def test_records_after_a_trailer_need_another(source, lines):
    """An idle server writes a trailer and may go on; only the last one closes the file."""
    idle = {"trailer": {"records": 2, "dropped": 0}, "end": False, "time": 1.0}
    assert source.read([*lines[:3], idle, *lines[3:]], NAME).problems == []
    (problem,) = source.read([*lines[:3], idle, *lines[3:-1]], NAME).problems
    assert "trailer" in problem.reason


def test_lines_that_are_missing_are_counted(source, lines):
    """The trailer knows how many records there were."""
    (problem,) = source.read([*lines[:2], *lines[3:]], NAME).problems
    assert problem.reason == "holds 7 records, its trailer counts 8"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": [["a", 0, 9, 1, 0, 3, 4, 3, 0]]}, "accepted is 4"),
        ({"rows": [["a", 0, 9, 1, 0, 4, 2, 3, 0]]}, "cap is 4"),
        ({"rows": [["a", 0, 9, 1, 0, 3, 2, 4, 0]]}, "emitted is 4"),
        ({"rows": [["a", 0, 9]]}, "a row of a round"),
        ({"rows": 3}, "without rows"),
        ({"depth": float("nan")}, "depth is nan"),
        ({"seconds": [1.0]}, "seconds are no list"),
        ({"seconds": [float("inf"), None, None, None, None]}, "round is inf"),
        ({"before": -2}, "before is -2"),
    ],
)
def test_an_impossible_round_costs_itself(source, lines, change, reason):
    """Named with its line; the other rounds stay."""
    lines[2] |= change
    imported = source.read(lines, NAME)
    assert [p.line for p in imported.problems] == [3] and reason in imported.problems[0].reason
    assert sum(len(block.depth) for _, block in imported.traces) == 4


def test_a_newer_log_is_refused_naming_both_versions(source, lines):
    """Nothing of it is guessed at."""
    lines[0]["version"] = 2
    imported = source.read(lines, NAME)
    assert imported.traces == [] and len(imported.problems) == 1
    assert imported.problems[0].reason == "decision log version 2; this release reads up to 1"


def test_a_retracted_request_goes_on_as_the_same_one(source, lines):
    """Its rounds before and after are one request, whatever slot it comes back to."""
    retracted = {"forget": [1], "rids": ["b[1]"], "why": "retracted", "order": 3, "time": 1.0}
    lines.insert(3, retracted)
    lines[-1]["trailer"]["records"] = 9
    block = source.block(lines, NAME)
    assert block.requests == 2 and len(rounds_of(block, "b[1]")["depth"]) == 3


def test_the_parts_of_a_run_are_one_set(tmp_path, lines):
    """A request that runs across a rotation stays whole, and no part is imported twice."""
    second = lines[0] | {"part": 1, "counts": {"records": 2}}
    turn = {"trailer": {"records": 2, "dropped": 0}, "end": False, "time": 1.0}
    parts = [[*lines[:3], turn], [second, *lines[3:]]]
    for number, records in enumerate(parts):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / f"decisions-20260101-000000-0a1b2c3d-{number:04d}.jsonl").write_text(text)
    problems = []
    report = import_all([tmp_path], tmp_path / "out", lambda problem, skipped: problems.append(problem))
    assert problems == [] and len(report.sets) == 1
    (block,) = TraceReader(report.sets[0].path).blocks()
    whole = recognise(SAMPLE).read(SAMPLE).traces[0][1]
    for column in ("position", "depth", "window", "accepted", "emitted"):
        assert getattr(block, column).tolist() == getattr(whole, column).tolist()


def test_a_lost_header_costs_only_what_it_would_say(source, lines):
    """The rounds are imported with model and engine unknown."""
    imported = source.read("{torn\n" + "".join(json.dumps(r) + "\n" for r in lines[1:]), NAME)
    ((header, block),) = imported.traces
    assert block.requests == 2 and header.model == "unknown" and len(imported.problems) == 1
