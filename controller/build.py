"""Builds a controller from a rule's name or a policy file, the same way for the simulator and the server."""

from __future__ import annotations

from typing import Any

from adaptive_depth import policies as _register_rules  # noqa: F401  (importing it fills the registry)
from adaptive_depth.controller.acceptance import AcceptanceConfig, AcceptanceEstimator
from adaptive_depth.controller.depth_controller import CostSource, DepthController, FixedCost
from adaptive_depth.policies.cost_model import CostModel, LinearCost
from adaptive_depth.policies.registry import make_policy
from adaptive_depth.policies.spec import PolicySpec, parse_spec
from adaptive_depth.policies.types import Candidates
from adaptive_depth.traces.errors import ConfigError

#: Taken where no cost is given: rounds of 14.0 ms and 0.71 ms a draft, near the windowed 35B model at 1M tokens.
DEFAULT_COST = LinearCost(v0=0.01404, f0=0.00071)


def build_controller(
    policy: str | PolicySpec,
    *,
    candidates: Candidates | None = None,
    cost: CostModel | CostSource | None = None,
    acceptance: AcceptanceConfig | None = None,
    strict: bool = False,
) -> DepthController:
    """A controller for ``policy``: ``NAME[:PARAMS]`` or what :func:`parse_spec` made of it.

    ``candidates`` default to :func:`default_candidates`, ``cost`` to :data:`DEFAULT_COST`. The estimator is built
    only for a rule that uses it. ``strict`` raises on any fault instead of serving the static plan.
    :class:`ConfigError` where rule, parameters and candidates do not fit together.

    >>> build_controller("marginal").candidates.depths
    (0, 1, 2, 3, 5, 7)
    """
    spec = parse_spec(policy) if isinstance(policy, str) else policy
    config = spec.config()
    candidates = candidates or default_candidates(config)
    try:
        rule = make_policy(spec.name, config, candidates)
    except ValueError as error:
        raise ConfigError(f"policy {spec.name!r}: {error}") from None
    estimator = AcceptanceEstimator(candidates, acceptance) if rule.uses_survival else None
    return DepthController(candidates, rule, estimator, _source(cost), strict=strict)


def default_candidates(config: Any) -> Candidates:
    """The usual candidates, with the depths and windows added that ``config`` itself names."""
    usual = Candidates()
    depth, window = getattr(config, "depth", None), getattr(config, "window", None)
    depths = {*usual.depths, *(() if depth is None else (depth,))}
    windows = dict.fromkeys((*usual.windows, *(() if window is None else (window,))))
    return Candidates(tuple(sorted(depths)), tuple(windows))


def _source(cost: CostModel | CostSource | None) -> CostSource:
    if cost is None:
        return FixedCost(DEFAULT_COST)
    return FixedCost(cost) if hasattr(cost, "seconds") else cost
