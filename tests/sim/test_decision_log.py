"""A decision log of every shipped version, written by a real server, imports and replays for ever."""

import json
from pathlib import Path

import pytest

from adaptive_depth.sim.cli import main

GOLDEN = sorted((Path(__file__).parents[1] / "vectors" / "traces").glob("decision-log-*.jsonl"))


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_a_shipped_log_imports_and_replays(path, tmp_path, capsys):
    """All requests and rounds, no problem; every rule that the tiers allow gets its row."""
    assert main(["import", str(path), "--out", str(tmp_path), "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    ((one,), problems) = (summary["sets"], summary["problem_count"])
    assert (one["kind"], one["importer"], one["requests"], problems) == ("rounds", "decision-log", 10, 0)
    report = tmp_path / "report.json"
    assert main(["replay", str(tmp_path), "--policy", "marginal", "--json", str(report)]) == 0
    replayed = report.read_text()
    assert '"marginal"' in replayed and '"modelled"' in replayed


def test_version_1_has_a_golden_log():
    """The list above may never be empty."""
    assert [path.stem for path in GOLDEN] == ["decision-log-1"]
