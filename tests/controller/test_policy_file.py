"""policy.json: what it may hold, that it comes back, and one line for whatever is wrong."""

from __future__ import annotations

import json

import pytest

from adaptive_depth.controller.policy_file import (
    CandidatesPart,
    PolicyFile,
    load_policy_file,
    save_policy_file,
)
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.types import Candidates
from adaptive_depth.traces.errors import ConfigError


@pytest.fixture
def write(tmp_path):
    def to_file(raw):
        path = tmp_path / "policy.json"
        path.write_text(raw if isinstance(raw, str) else json.dumps(raw), "utf-8")
        return path

    return to_file


def marginal(**more):
    return {"version": 1, "policy": "marginal", **more}


def test_all_parts_are_read(write):
    """Rule, parameters, estimator, candidates, cost and provenance."""
    file = load_policy_file(
        write(
            marginal(
                parameters={"switch_cost": 1},
                acceptance={"slow_decay": 0.9},
                candidates={"depths": [0, 2, 4], "windows": [4032, 0], "sink": 64, "start_depth": 4},
                cost={"v0": 0.01, "f0": 0.001},
                provenance={"tuned_on": ["a", "b"]},
            )
        )
    )
    assert file.config().switch_cost == 1.0
    assert file.acceptance_config().slow_decay == 0.9
    assert file.choices() == Candidates((0, 2, 4), (4032, 0), 64, 4, 4032)
    assert (file.cost_model().v0, file.cost_model().extend_windowed) == (0.01, True)


def test_little_is_needed(write):
    """A rule's name alone: its usual candidates, no cost of its own."""
    file = load_policy_file(write({"policy": "marginal"}))
    assert (file.choices(), file.cost_model(), file.extend_window) == (Candidates(), None, False)


@pytest.mark.parametrize(
    ("part", "start_depth", "start_window"),
    [
        ({}, 3, 0),
        ({"depths": [0, 1, 2, 4]}, 2, 0),
        ({"windows": [4032, 0]}, 3, 4032),
        ({"depths": [5]}, 5, 0),
    ],
    ids=str,
)
def test_start_values_left_out(part, start_depth, start_window):
    """Depth 3 or else the upper median; the first window."""
    chosen = CandidatesPart(**{k: tuple(v) for k, v in part.items()}).candidates()
    assert (chosen.start_depth, chosen.start_window) == (start_depth, start_window)


@pytest.mark.parametrize(
    ("candidates", "windowed"),
    [
        ({}, False),
        ({"windows": [0, 512]}, True),
        ({"windows": [0, 512], "extend_window": False}, False),
        ({"extend_window": True}, True),
    ],
    ids=str,
)
def test_extend_follows_the_windows_unless_told(write, candidates, windowed):
    """A preset's price of draft-extend is the one of what will run."""
    file = load_policy_file(write(marginal(cost="q35-b200", candidates=candidates)))
    assert file.extend_window is windowed
    assert file.cost_model().extend_windowed is windowed
    assert preset("q35-b200").extend_windowed is True


def test_a_saved_file_comes_back(tmp_path):
    """Equal when read again, and what was left out is still left out."""
    file = PolicyFile(policy="static", parameters={"depth": 5}, candidates=CandidatesPart(depths=(1, 5)))
    save_policy_file(tmp_path / "p.json", file)
    assert load_policy_file(tmp_path / "p.json") == file
    raw = json.loads((tmp_path / "p.json").read_text())
    assert raw == {
        "version": 1,
        "policy": "static",
        "parameters": {"depth": 5},
        "candidates": {"depths": [1, 5]},
    }


def test_a_cost_file_lies_beside_the_policy_file(write, tmp_path, monkeypatch):
    """Wherever the command runs."""
    (tmp_path / "mine.json").write_text(json.dumps({"name": "mine", "linear": {"v0": 0.5}}))
    path = write(marginal(cost="mine.json"))
    monkeypatch.chdir("/")
    assert load_policy_file(path).cost_model().v0 == 0.5


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"polcy": "marginal"}, "unknown key 'polcy' (did you mean 'policy'?)"),
        ({"policy": "marginl"}, "did you mean 'marginal'"),
        ({}, "policy: Field required"),
        (marginal(parameters={"switch_cots": 1}), "did you mean 'switch_cost'"),
        (marginal(parameters={"switch_cost": "0.1"}), "'switch_cost': Input should be"),
        ({"policy": "bandit", "parameters": {"dwell": True}}, "'dwell': Input should be"),
        (marginal(parameters={"switch_cost": float("nan")}), "switch_cost must be"),
        (marginal(candidates={"dephts": [1]}), "unknown key 'candidates.dephts' (did you mean 'depths'?)"),
        (marginal(candidates={"depths": [3, 1]}), "depths must ascend"),
        (marginal(candidates={"depths": []}), "depths must ascend"),
        (marginal(candidates={"depths": [1, 200]}), "above 127"),
        (marginal(candidates={"depths": [1.5]}), "candidates.depths.0"),
        (marginal(candidates={"windows": []}), "windows must be"),
        (marginal(candidates={"start_depth": 4}), "start depth 4"),
        (marginal(candidates={"start_window": 4}), "start window 4"),
        (
            {"policy": "static", "parameters": {"depth": 4}, "candidates": {"depths": [1, 3]}},
            "static depth 4",
        ),
        ({"policy": "sglang-ema", "candidates": {"depths": [1, 3]}}, "[0, 5, 7]"),
        ({"policy": "throughput-aware", "candidates": {"depths": [0]}}, "above 0"),
        (marginal(cost="q35-b20"), "did you mean 'q35-b200'"),
        (marginal(cost={"v00": 1}), "unknown key 'cost.v00' (did you mean 'v0'?)"),
        (marginal(cost={"v0": -1}), "cost.v0"),
        (marginal(cost={"v0": "1"}), "cost.v0"),
        (marginal(cost=3), "cost"),
        (marginal(cost="none.json"), "none.json: cannot be read"),
        (
            marginal(acceptance={"slow_dcay": 0.9}),
            "unknown key 'acceptance.slow_dcay' (did you mean 'slow_decay'?)",
        ),
        (marginal(acceptance={"slow_decay": 9}), "slow_decay must be"),
        ({**marginal(), "version": 2, "later": 1}, "policy file version 2; this release reads up to 1"),
        ({**marginal(), "version": "1"}, "version"),
        ([1], "a JSON object"),
        ("{", "is not JSON"),
        ("", "is not JSON"),
    ],
    ids=str,
)
def test_refuses_in_one_line(write, raw, told):
    """ConfigError: the file, then the part at fault and what would be allowed."""
    path = write(raw)
    with pytest.raises(ConfigError) as error:
        load_policy_file(path)
    assert str(error.value).startswith(str(path)) and told in str(error.value)
    assert "\n" not in str(error.value)


def test_refuses_what_is_no_text(tmp_path):
    """A folder, an absent file and bytes that are no UTF-8."""
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "absent.json", tmp_path / "bytes.json"):
        with pytest.raises(ConfigError, match=str(path)):
            load_policy_file(path)
