"""``sim costs``: published against fitted, as a table for people and as JSON for programs."""

import json

import pytest

from adaptive_depth.controller.presets import PRESETS
from adaptive_depth.controller.published import ANCHORS
from adaptive_depth.sim.commands import costs
from adaptive_depth.traces.command_line import execute, make_parser


def run(*argv):
    return execute(make_parser("sim", "", (costs,)), ["costs", *argv])


def test_json_holds_every_anchor_with_source_and_residual(capsys):
    """One row an anchor; a residual is fitted minus published in ms and in percent; ranges say if they
    hold.
    """
    assert run("--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [p["name"] for p in report["presets"]] == list(PRESETS)
    rows = [row for p in report["presets"] for row in p["anchors"]]
    assert len(rows) == len(ANCHORS) and all(row["source"] for row in rows)
    for row in rows:
        if row["published"] is None:
            assert row["residual"] is None and row["inside"] is True
        else:
            assert row["residual"] == pytest.approx(row["fitted"] - row["published"])
            assert row["residual_percent"] == pytest.approx(100 * row["residual"] / row["published"])


def test_json_prices_rounds_by_depth_context_and_window(capsys):
    """8K, 64K, 261K and 1.04M, full and windowed, depths 0..9, with what each further draft adds."""
    assert run("--preset", "q122-b200", "--format", "json") == 0
    (only,) = json.loads(capsys.readouterr().out)["presets"]
    places = [(row["context"], row["window"]) for row in only["rounds"]]
    assert places == [(c, w) for c in (8_000, 64_000, 261_000, 1_040_000) for w in (0, 4032)]
    row = only["rounds"][-1]
    assert len(row["ms"]) == 10
    assert row["marginal_ms"] == pytest.approx(
        [b - a for a, b in zip(row["ms"], row["ms"][1:], strict=False)]
    )
    assert row["ms"][6] == pytest.approx(26.2, abs=0.3)


def test_table_names_what_cannot_all_hold(capsys):
    """The table shows the preset asked for, its residuals, and the published figures that contradict each
    other.
    """
    assert run("--preset", "nem-b200") == 0
    out = capsys.readouterr().out
    assert "nem-b200: published against fitted" in out and "q35-b200" not in out
    assert "p. 5, +92..138 %" in out and "cannot all hold" in out
    assert max(map(len, out.splitlines())) <= 140


def test_unknown_preset_is_one_line(capsys):
    """A misspelt preset exits 2 with one line that names the nearest."""
    assert run("--preset", "q53-b200") == 2
    assert capsys.readouterr().err == "sim costs: unknown cost preset 'q53-b200' (did you mean 'q35-b200'?)\n"
