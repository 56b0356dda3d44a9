"""``sim replay`` on odd traces, costs and arguments: one clear line or honest rows, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from adaptive_depth.sim.cli import main
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import DenseBlock
from adaptive_depth.traces.store import write_trace


@pytest.fixture
def dense(tmp_path):
    """``dense(lengths, ...)``: write a dense trace and return its path."""

    def make(lengths, folder="traces", k_max=4, context=100, name="made"):
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        accepted = np.random.default_rng(1).integers(0, k_max + 1, (1, start[-1])).astype(np.int8)
        names = tuple(f"r{i}" for i in range(len(lengths)))
        contexts = np.full(len(lengths), context, np.int64)
        block = DenseBlock(names, names, names, contexts, start, accepted)
        path = tmp_path / folder / f"{name}.trace.parquet"
        write_trace(path, TraceHeader(kind="dense", trace_set=name, origin="synthetic", k_max=k_max), [block])
        return path

    return make


@pytest.fixture
def rows(tmp_path):
    """``rows(*arguments)``: replay and return the JSON's rows."""

    def replay(*arguments):
        out = tmp_path / "out.json"
        assert main(["replay", *map(str, arguments), "--json", str(out)]) == 0
        return json.loads(out.read_text("utf-8"))["rows"]

    return replay


def test_no_output_at_all_is_one_line(dense, capsys):
    """Requests without a token are nothing to replay; the message says so."""
    assert main(["replay", str(dense([0, 0]))]) == 2
    assert "holds no output token" in capsys.readouterr().err


def test_requests_without_output_do_not_spoil_the_interval(dense, rows):
    """An interval is a pair of numbers or absent, whichever requests a resample would draw."""
    for row in rows(dense([0, 5, 0, 3, 0, 0])):
        assert row["ci95"] is None or None not in row["ci95"]


@pytest.mark.parametrize(("k_max", "arguments"), [(0, ()), (4, ("--depths", "0"))])
def test_depth_zero_alone_is_a_choice(dense, rows, k_max, arguments):
    """Nothing to draft leaves plain decoding: every rule that runs is there, and no gap is closed."""
    found = {row["policy"]: row for row in rows(dense([30, 30], k_max=k_max), *arguments)}
    assert found["marginal"]["mean_depth"] == 0
    if k_max == 0:
        assert {row["gap_closed"] for row in found.values()} == {None}


def test_an_unknown_context_is_priced_as_assumed_and_noted(dense, rows):
    """A context of -1 is no length: it is filled in, and every row says with what."""
    for row in rows(dense([30, 30], context=-1), "--context", "own", "--policy", "marginal"):
        assert row["context"] == 1024
        assert "context unknown" in row["note"]


def test_files_of_one_name_stay_apart(dense, rows):
    """Two files that call themselves alike are two sets, each named by its path as well."""
    paths = [dense([30, 30], folder=folder) for folder in ("a", "b")]
    names = {row["trace_set"] for row in rows(*paths, dense([30], name="other"), "--policy", "static:1")}
    assert names == {*(f"made ({path})" for path in paths), "other"}


def test_no_policy_beats_the_clairvoyant(dense, rows, tmp_path):
    """A policy with depths of its own widens the bounds, even where others are limited by ``--depths``."""
    ladder = tmp_path / "ladder.json"
    ladder.write_text('{"candidate_steps": [9]}', "utf-8")
    arguments = ("--policy", f"sglang-ema:{ladder}", "--depths", "0,1")
    found = rows(dense([200] * 4, k_max=9), *arguments)
    assert all(row["vs_clairvoyant"] <= 1e-9 for row in found)
    assert all(row["vs_best_static"] <= 1e-9 for row in found if row["role"] == "policy")


def test_plain_decoding_pays_for_the_shortest_window(dense, rows, tmp_path):
    """Where a windowed draft-extend runs at depth 0 too, the baseline is not charged the full context."""
    cost = tmp_path / "cost.json"
    part = {"v0": 0.005, "x2": 1e-8, "extend_windowed": True, "extend_at_zero": True}
    cost.write_text(json.dumps({"name": "warm", "linear": part}), "utf-8")
    arguments = ("--window", "0,512", "--depths", "0,1", "--context", "1000000", "--policy", "static:0@512")
    found = {row["policy"]: row for row in rows(dense([40] * 3), *arguments, "--cost", cost)}
    assert found["static:0@512"]["speedup_vs_no_spec"] == pytest.approx(0.0)


def test_a_depth_without_a_price_is_unsupported(dense, rows, tmp_path):
    """A table that lacks a depth of the stock ladder cannot say how fast that is: no figure, and why."""
    table = tmp_path / "table.csv"
    table.write_text("depth,batch,seconds\n0,1,0.01\n2,1,0.02\n2,4,0.03\n4,1,0.02\n4,4,0.04\n", "utf-8")
    ladder = tmp_path / "ladder.json"
    ladder.write_text('{"candidate_steps": [1, 4]}', "utf-8")
    trace = dense([30] * 6)
    (row,) = (
        r for r in rows(trace, "--policy", f"sglang-ema:{ladder}", "--cost", table) if r["role"] == "policy"
    )
    assert row["evidence"] == "unsupported"
    assert "no price for depth 1" in row["note"]
    shared = rows(trace, "--policy", "marginal", "--cost", table, "--batch", "3")
    assert {row["policy"] for row in shared if row["role"] == "ladder"} == {"static:2", "static:4"}


def test_a_policy_file_without_candidates_chooses_as_the_bare_rule(dense, rows, tmp_path):
    """Naming the rule alone in a file is the same as naming it on the command line."""
    file = tmp_path / "policy.json"
    file.write_text('{"policy": "marginal"}', "utf-8")
    found = rows(dense([50] * 3), "--policy", "marginal", "--policy", file)
    bare, filed = (row for row in found if row["role"] == "policy")
    assert {**filed, "policy": ""} == {**bare, "policy": ""}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--batch", "99999999999"),
        ("--batch", "many"),
        ("--context", "1e6"),
        ("--context", "9" * 30),
        ("--window", "2147483648"),
        ("--seed", "-1"),
    ],
)
def test_impossible_numbers_are_refused(dense, capsys, arguments):
    """The message names the argument and the bound, not a function of ours."""
    with pytest.raises(SystemExit) as caught:
        main(["replay", str(dense([5])), *arguments])
    assert caught.value.code == 2
    message = capsys.readouterr().err
    assert f"argument {arguments[0]}: " in message
    assert "invalid _" not in message


@pytest.mark.parametrize(
    "slots", ['{"1":{"candidate_steps":[200]}}', '{"99999999999999999999":{"candidate_steps":[3]}}']
)
def test_an_impossible_sglang_ladder_is_one_line(dense, tmp_path, capsys, slots):
    """A depth above 127 or a batch beyond 32 bits is refused when the file is read."""
    file = tmp_path / "adaptive.json"
    file.write_text(slots, "utf-8")
    assert main(["replay", str(dense([5])), "--policy", f"sglang-ema:{file}"]) == 2
    assert "must be" in capsys.readouterr().err


def test_a_report_overwrites_neither_a_trace_nor_another_report(dense, tmp_path, capsys):
    """Both are refused before any work, and the trace is as it was."""
    trace, same = dense([5]), str(tmp_path / "same")
    before = trace.read_bytes()
    assert main(["replay", str(trace), "--json", str(trace)]) == 2
    assert main(["replay", str(trace), "--json", same, "--csv", same]) == 2
    assert capsys.readouterr().err.count("named twice") == 2
    assert trace.read_bytes() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_named(dense, capsys):
    """A write that fails late names the file; a full standard output is one line too."""
    trace = str(dense([5]))
    assert main(["replay", trace, "--policy", "static:1", "--json", "/dev/full"]) == 2
    assert "cannot write /dev/full: No space left" in capsys.readouterr().err
    command = f"{sys.executable} -m adaptive_depth.sim inspect {trace} > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "sim inspect: cannot write the output: No space left on device\n"


def test_a_pipe_is_no_trace(tmp_path, capsys):
    """A named pipe is refused instead of waited for."""
    os.mkfifo(tmp_path / "pipe")
    assert main(["inspect", str(tmp_path / "pipe")]) == 2
    assert "not a regular file" in capsys.readouterr().err


def test_a_name_that_is_not_utf8_is_said_to_be_the_fault(dense, tmp_path):
    """The file is fine, its name is not: the message says which."""
    odd = os.fsencode(tmp_path) + b"/\xff.trace.parquet"
    os.rename(dense([5]), odd)
    command = [sys.executable, "-m", "adaptive_depth.sim", "inspect", odd]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "its name is not UTF-8" in done.stderr


def test_a_twin_stays_in_its_folder(dense, tmp_path, capsys):
    """A trace's own name may hold a path; the twin is written below ``--out`` all the same."""
    from adaptive_depth.traces.store import read_trace

    header, block = read_trace(dense([40] * 4))
    evil = tmp_path / "evil.trace.parquet"
    write_trace(evil, header.model_copy(update={"trace_set": "../../away"}), [block])
    assert main(["synth", "--fit", str(evil), "--out", str(tmp_path / "deep" / "out")]) == 0
    assert [path.name for path in (tmp_path / "deep" / "out").iterdir()] == ["away-twin.trace.parquet"]


def test_a_trace_of_no_drafts_has_no_twin(dense, tmp_path, capsys):
    """A chain cap of 0 leaves nothing to fit."""
    assert main(["synth", "--fit", str(dense([5], k_max=0)), "--out", str(tmp_path / "out")]) == 2
    assert "no drafts to fit to" in capsys.readouterr().err


def test_more_than_memory_is_one_line(tmp_path, capsys):
    """A trace that no machine holds is refused in words."""
    arguments = ["synth", "--stationary", "--tokens", "99999999999999", "--out", str(tmp_path)]
    assert main(arguments) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_windows_beyond_32_bits_are_refused(dense, tmp_path):
    """A window that the columns cannot hold is a fault of the header."""
    from adaptive_depth.traces.errors import TraceFormatError

    header = TraceHeader(kind="dense", trace_set="wide", origin="synthetic", windows=(0, 1 << 31))
    with pytest.raises(TraceFormatError, match="at most"):
        write_trace(tmp_path / "wide.trace.parquet", header, [])
