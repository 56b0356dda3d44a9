"""``sim inspect``: the JSON contract, honest tables, one line a problem, exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from adaptive_depth.sim.cli import main
from adaptive_depth.traces.blocks import empty_block
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import DenseBlock
from adaptive_depth.traces.store import write_trace

KINDS = ("dense", "rounds", "intervals")


@pytest.fixture
def folder(make_trace, tmp_path):
    """A folder with one trace of each kind and a file that is none."""
    for kind in KINDS:
        header, block = make_trace(kind, requests=6, longest=40)
        write_trace(tmp_path / f"{kind}.trace.parquet", header, [block])
    (tmp_path / "notes.txt").write_text("not a trace")
    return tmp_path


def test_json_contract(folder, capsys):
    """The document has the agreed keys, one entry a trace in order of name, and no NaN."""
    assert main(["inspect", str(folder), "--format", "json"]) == 0
    out = capsys.readouterr()
    document = json.loads(out.out, parse_constant=lambda name: pytest.fail(name))
    assert list(document) == ["schema", "traces"]
    assert document["schema"] == "adaptive-depth-inspect/1"
    assert [t["header"]["kind"] for t in document["traces"]] == sorted(KINDS)
    for trace in document["traces"]:
        assert list(trace) == ["path", "header", "requests", "problems", "findings"]
        assert trace["requests"] == 6
    dense, intervals, rounds = (t["findings"] for t in document["traces"])
    assert [row["depth"] for row in dense["at_fixed_depth"]] == [1, 2, 3, 4]
    assert len(dense["calibration"]) == 10
    assert intervals["intervals"] > 0
    assert rounds["statistics"]["rounds"] == sum(row["rounds"] for row in rounds["by_depth"])
    assert out.err == ""


def test_table_shows_origin_and_unknowns(folder, capsys):
    """Every trace says where it comes from, and what is not known is called unknown."""
    assert main(["inspect", str(folder / "dense.trace.parquet"), str(folder / "rounds.trace.parquet")]) == 0
    out = capsys.readouterr().out
    assert out.count("synthetic") == 2
    assert "temperature unknown" in out
    for title in (
        "Rounds at a fixed depth",
        "Acceptance by position",
        "Draft windows",
        "Context",
        "Workload",
    ):
        assert title in out
    assert "lag-1 within" in out


def test_text_from_a_file_is_not_markup(tmp_path, capsys):
    """Brackets in a workload's name are printed, not interpreted."""
    header = TraceHeader(kind="dense", trace_set="[/red]", origin="recorded", k_max=1)
    block = DenseBlock(
        ("r",), ("[bold]x[/]",), ("s",), np.array([1]), np.array([0, 1]), np.zeros((1, 1), np.int8)
    )
    write_trace(tmp_path / "m.trace.parquet", header, [block])
    assert main(["inspect", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "[/red]" in out
    assert "[bold]x[/]" in out


def test_bad_paths_cost_one_line_each_and_not_the_rest(folder, capsys):
    """A missing path, a text file and a torn trace are named on stderr; the good trace is still shown."""
    torn = folder / "torn.trace.parquet"
    torn.write_bytes((folder / "dense.trace.parquet").read_bytes()[:-9])
    paths = [folder / "missing", folder / "notes.txt", torn, folder / "rounds.trace.parquet"]
    assert main(["inspect", "--format", "json", *map(str, paths)]) == 0
    out = capsys.readouterr()
    assert len(json.loads(out.out)["traces"]) == 1
    lines = out.err.splitlines()
    assert len(lines) == 3
    assert [line.startswith(f"sim inspect: {path}: ") for line, path in zip(lines, paths, strict=False)] == [
        True
    ] * 3


def test_a_trace_named_twice_is_shown_once(folder, capsys):
    """A file and its folder on one command line do not double the figures."""
    main(["inspect", str(folder / "dense.trace.parquet"), str(folder), "--format", "json"])
    assert len(json.loads(capsys.readouterr().out)["traces"]) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_usable_is_exit_code_2(kind, tmp_path, capsys):
    """An empty trace is shown as empty, reported, and is nothing usable."""
    header = TraceHeader(kind=kind, trace_set="none", origin="recorded", k_max=3)
    write_trace(tmp_path / "none.trace.parquet", header, [empty_block(header)])
    assert main(["inspect", str(tmp_path)]) == 2
    out = capsys.readouterr()
    assert "holds no requests" in out.err
    assert out.err.count("\n") == 1
    assert main(["inspect", str(tmp_path / "nowhere")]) == 2
