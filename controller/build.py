"""Builds a controller from a rule's name or a policy file, the same way for the simulator and the server."""

from __future__ import annotations

from typing import cast

from adaptive_depth.controller.acceptance import AcceptanceConfig, AcceptanceEstimator
from adaptive_depth.controller.default_candidates import default_candidates
from adaptive_depth.controller.depth_controller import CostSource, DepthController, FixedCost
from adaptive_depth.controller.online_cost import OnlineCost
from adaptive_depth.controller.policy_file import PolicyFile, load_policy_file
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.cost_model import CostModel, LinearCost
from adaptive_depth.policies.registry import entries, make_policy
from adaptive_depth.policies.spec import PolicySpec, parse_spec
from adaptive_depth.policies.types import Candidates
from adaptive_depth.traces.errors import ConfigError

__all__ = ["DEFAULT_COST", "build_controller", "default_candidates", "read_policy"]

#: The preset taken where no cost is given.
DEFAULT_COST = "q35-b200"


def read_policy(text: str) -> PolicySpec | PolicyFile:
    """What the user named: ``NAME[:PARAMS]`` of a registered rule, or the path of a policy file.

    :class:`ConfigError` where it is neither, or where parameters or file do not hold what they should.
    """
    known = {entry.name for entry in entries()}
    is_file = text.partition(":")[0] not in known and text.lower().endswith(".json")
    return load_policy_file(text) if is_file else parse_spec(text)


def build_controller(
    policy: str | PolicySpec | PolicyFile,
    *,
    candidates: Candidates | None = None,
    cost: CostModel | CostSource | None = None,
    acceptance: AcceptanceConfig | None = None,
    strict: bool = False,
    online_cost: bool = False,
) -> DepthController:
    """A controller for ``policy``: a name or path (see :func:`read_policy`), or what was read from it.

    An argument goes before what a policy file says. Without either, ``candidates`` are
    :func:`default_candidates` and ``cost`` is the preset :data:`DEFAULT_COST`; ``online_cost`` learns from
    measured rounds with that cost as its prior. The estimator is built only for a rule that uses it.
    ``strict`` raises on any fault instead of serving the static plan. :class:`ConfigError` where rule,
    parameters, candidates and cost do not fit together.

    >>> build_controller("marginal").candidates.depths
    (0, 1, 2, 3, 5, 7)
    """
    chosen = read_policy(policy) if isinstance(policy, str) else policy
    name, config = chosen.name, chosen.config()
    if isinstance(chosen, PolicyFile):
        candidates = candidates or chosen.choices()
        cost = cost or chosen.cost_model()
        acceptance = acceptance or chosen.acceptance_config()
    try:
        candidates = candidates or default_candidates(config)
        rule = make_policy(name, config, candidates)
    except ValueError as error:
        raise ConfigError(f"policy {name!r}: {error}") from None
    estimator = AcceptanceEstimator(candidates, acceptance) if rule.uses_survival else None
    return DepthController(candidates, rule, estimator, _source(cost, online_cost), strict=strict)


def _source(cost: CostModel | CostSource | None, online: bool) -> CostSource:
    if cost is None:
        cost = preset(DEFAULT_COST)
    if hasattr(cost, "observe"):
        return cast(CostSource, cost)
    if not online:
        return FixedCost(cost)
    if not isinstance(cost, LinearCost):
        raise ConfigError("only a linear cost (a preset or coefficients) can be learned online, not a table")
    return OnlineCost(cost)
