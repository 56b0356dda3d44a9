"""``sim synth`` from the command line: files, tables, JSON and errors."""

import json

import numpy as np
import pytest

from adaptive_depth.sim.cli import main
from adaptive_depth.traces.published_sets import published_block, published_set
from adaptive_depth.traces.store import read_trace


def test_published_set_is_written(tmp_path, capsys):
    """--set NAME writes that set alone, as it is shipped, and prints the path."""
    assert main(["synth", "--set", "q35-vt", "--out", str(tmp_path)]) == 0
    path = tmp_path / "q35-vt.trace.parquet"
    assert capsys.readouterr().out.split() == [str(path)] and list(tmp_path.iterdir()) == [path]
    assert np.array_equal(read_trace(path)[1].accepted, published_block(published_set("q35-vt")).accepted)


def test_stationary_trace(tmp_path):
    """--stationary has the requests, tokens, chain cap and mean asked for, labelled synthetic."""
    size = ["--requests", "40", "--tokens", "300", "--k-max", "5"]
    command = ["synth", "--stationary", "--mean-accepted", "1.5", *size, "--out", str(tmp_path)]
    assert main(command) == 0
    header, block = read_trace(tmp_path / "stationary-1.5.trace.parquet")
    assert header.origin == "synthetic" and header.k_max == 5
    assert block.output_tokens.tolist() == [300] * 40
    assert block.accepted.mean() == pytest.approx(1.5, abs=0.1)


def test_phases_trace(tmp_path):
    """--phases passes through the phases named."""
    assert main(["synth", "--phases", "50:0,50:7", "--requests", "2", "--out", str(tmp_path)]) == 0
    _, block = read_trace(tmp_path / "phases-0-7.trace.parquet")
    assert block.accepted[0].reshape(2, 2, 50).mean(axis=2).tolist() == [[0, 7], [0, 7]]


def test_twin_from_the_command_line(tmp_path, capsys):
    """--fit writes the twin beside a comparison; the JSON names the file and each figure."""
    assert main(["synth", "--stationary", "--requests", "30", "--tokens", "200", "--out", str(tmp_path)]) == 0
    source = tmp_path / "stationary-2.trace.parquet"
    capsys.readouterr()
    command = ["synth", "--fit", str(source), "--requests", "9", "--out", str(tmp_path), "--format", "json"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)
    header, block = read_trace(told["path"])
    assert header.trace_set == "stationary-2-twin" and block.requests == 9
    rows = {row["figure"]: row for row in told["rows"]}
    depth = rows["accept length at depth 7"]
    assert depth["synthetic"] == pytest.approx(depth["recorded"], rel=0.05)


def test_check_table_and_json(capsys):
    """--check prints every figure of the shipped sets, and the verdict on the best depths."""
    assert main(["synth", "--check"]) == 0
    out = capsys.readouterr().out
    assert "best depths reproduced: 16 of 16" in out and "q122-niah-mq" in out and "w1024" in out
    assert main(["synth", "--check", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {"trace_set", "quantity", "published", "synthetic", "residual"} <= set(rows[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "q35-vt"], "--out"),
        (["--set", "q35-vtt", "--out", "."], "did you mean 'q35-vt'"),
        (["--phases", "10-3", "--out", "."], "TOKENS:MEAN_ACCEPTED"),
        (["--stationary", "--mean-accepted", "9", "--out", "."], "outside 0..7"),
        (["--stationary", "--requests", "0", "--out", "."], "at least"),
        (["--fit", "no-such-file", "--out", "."], "no-such-file"),
        (["--seed", "-1", "--out", "."], "--seed"),
        (["--check", "no-such-folder"], "none of the 1M sets"),
        (["--calibrate", "no/such/folder.json"], "no folder"),
    ],
)
def test_wrong_arguments_are_one_line(arguments, message, capsys):
    """Every wrong argument is one line on stderr that says what is wrong, exit code 2, nothing on stdout."""
    assert main(["synth", *arguments]) == 2
    said = capsys.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and not said.out
