"""What ``sim replay`` lets the policies believe of the cost."""

from __future__ import annotations

import json

import pytest

from adaptive_depth.sim.cli import main


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A stationary trace of a few thousand tokens."""
    folder = tmp_path_factory.mktemp("trace")
    main(["synth", "--stationary", "--mean-accepted", "1.5", "--requests", "8", "--out", str(folder)])
    return folder


def replayed(trace, tmp_path, *arguments):
    out = tmp_path / "rows.json"
    main(["replay", str(trace), "--cost", "nem-b200", "--context", "1000000", "--json", str(out), *arguments])
    rows = json.loads(out.read_text("utf-8"))["rows"]
    return {row["policy"]: row for row in rows if row["role"] == "policy"}


@pytest.mark.parametrize(("cost", "same"), [(None, True), ("nem-b200", True), ("q35-b200", False)])
def test_a_policy_file_plans_with_its_own_cost_or_else_the_replays(trace, tmp_path, capsys, cost, same):
    """A file that names no cost believes the cost of the replay, not some preset; one that does, its own."""
    file = tmp_path / "policy.json"
    what = {"policy": "marginal", "candidates": {"depths": list(range(8)), "windows": [0]}}
    file.write_text(json.dumps(what if cost is None else what | {"cost": cost}), "utf-8")
    rows = replayed(trace, tmp_path, "--policy", "marginal", "--policy", str(file))
    ours, files = rows["marginal"], rows[str(file)]
    assert (ours["depth_histogram"] == files["depth_histogram"]) is same
