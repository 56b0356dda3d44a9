"""One function builds the controller for simulator and server."""

from __future__ import annotations

import json

import numpy as np
import pytest

from adaptive_depth.controller.build import DEFAULT_COST, build_controller, read_policy
from adaptive_depth.controller.online_cost import OnlineCost
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.registry import entries
from adaptive_depth.policies.spec import PolicySpec
from adaptive_depth.policies.types import BatchView, Candidates
from adaptive_depth.traces.errors import ConfigError


def one() -> BatchView:
    return BatchView(*(np.zeros(1, np.int32),) * 2, *(np.full(1, 1000),) * 2)


@pytest.mark.parametrize("name", [entry.name for entry in entries()])
def test_every_rule_is_built_from_its_name(name):
    """With nothing else given; and it plans a candidate."""
    controller = build_controller(name, strict=True)
    assert controller.plan(one()).depth[0] in controller.candidates.depths


def test_default_candidates_hold_what_the_rule_names(tmp_path):
    """static starts at its own depth and window; sglang-ema has its ladder and its launch depth."""
    assert build_controller("static:4@512").candidates == Candidates(
        (0, 1, 2, 3, 4, 5, 7), (0, 512), 0, 4, 512
    )
    (tmp_path / "ladder.json").write_text(json.dumps({"1": {"candidate_steps": [2, 4, 6, 9]}}))
    built = build_controller(f"sglang-ema:{tmp_path / 'ladder.json'}")
    assert built.candidates == Candidates((2, 4, 6, 9), start_depth=6)
    assert build_controller("sglang-ema").candidates.depths == (0, 1, 3, 5, 7)


def test_arguments_go_before_the_file():
    """Candidates, cost and acceptance of a policy file hold unless given."""
    file = PolicyFile.model_validate_json(
        '{"policy": "marginal", "candidates": {"depths": [0, 2], "start_depth": 2}, "cost": "nem-b200"}'
    )
    built = build_controller(file)
    assert built.candidates.depths == (0, 2)
    assert built._cost.cost.f0 == preset("nem-b200").f0
    mine = preset("q122-b200")
    built = build_controller(file, candidates=Candidates(), cost=mine)
    assert built.candidates == Candidates() and built._cost.cost is mine


def test_cost_is_fixed_or_learned_with_the_given_one_as_prior():
    """A source passes through as it is; a table cannot be learned."""
    assert build_controller("marginal")._cost.cost is preset(DEFAULT_COST)
    learned = build_controller("marginal", cost=preset("nem-b200"), online_cost=True)._cost
    assert isinstance(learned, OnlineCost) and learned.cost is preset("nem-b200")
    assert build_controller("marginal", cost=learned)._cost is learned

    class Table:
        extend_windowed = False

        def seconds(self, load, depths):
            raise NotImplementedError

    with pytest.raises(ConfigError, match="linear"):
        build_controller("marginal", cost=Table(), online_cost=True)


def test_no_estimator_for_a_rule_that_needs_none():
    """A static rule at a fixed cost learns nothing at all."""
    assert not build_controller("static:2").learns
    assert build_controller("sglang-ema").learns


@pytest.mark.parametrize("policy", ["static:200", "marginl", "static:4@9x"])
def test_what_does_not_fit_is_a_config_error(policy):
    """One line, before anything runs."""
    with pytest.raises(ConfigError):
        build_controller(policy)


def test_candidates_that_lack_the_rules_depths_are_refused():
    """Named in the message."""
    with pytest.raises(ConfigError, match="static depth 4"):
        build_controller("static:4", candidates=Candidates())


def test_a_name_or_a_path(tmp_path):
    """A registered name goes before a path that ends in .json."""
    path = tmp_path / "p.json"
    path.write_text('{"policy": "static", "parameters": {"depth": 1}}')
    assert isinstance(read_policy(str(path)), PolicyFile)
    assert isinstance(read_policy("static:1"), PolicySpec)
    assert build_controller(str(path)).plan(one()).depth.tolist() == [1]
    with pytest.raises(ConfigError, match=r"no\.json: cannot be read"):
        read_policy("no.json")
