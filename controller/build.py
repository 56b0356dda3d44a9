"""Builds a controller from a rule's name or a policy file, the same way for the simulator and the server."""

from __future__ import annotations

from typing import Any

from adaptive_depth.controller.acceptance import AcceptanceConfig, AcceptanceEstimator
from adaptive_depth.controller.depth_controller import CostSource, DepthController, FixedCost
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.cost_model import CostModel
from adaptive_depth.policies.registry import make_policy
from adaptive_depth.policies.sglang_ema import SglangEmaConfig
from adaptive_depth.policies.spec import PolicySpec, parse_spec
from adaptive_depth.policies.static import StaticConfig
from adaptive_depth.policies.types import Candidates
from adaptive_depth.traces.errors import ConfigError

#: The preset taken where no cost is given.
DEFAULT_COST = "q35-b200"


def build_controller(
    policy: str | PolicySpec,
    *,
    candidates: Candidates | None = None,
    cost: CostModel | CostSource | None = None,
    acceptance: AcceptanceConfig | None = None,
    strict: bool = False,
) -> DepthController:
    """A controller for ``policy``: ``NAME[:PARAMS]`` or what :func:`parse_spec` made of it.

    ``candidates`` default to :func:`default_candidates`, ``cost`` to the preset :data:`DEFAULT_COST`. The
    estimator is built only for a rule that uses it. ``strict`` raises on any fault instead of serving the
    static plan. :class:`ConfigError` where rule, parameters and candidates do not fit together.

    >>> build_controller("marginal").candidates.depths
    (0, 1, 2, 3, 5, 7)
    """
    spec = parse_spec(policy) if isinstance(policy, str) else policy
    config = spec.config()
    try:
        candidates = candidates or default_candidates(config)
        rule = make_policy(spec.name, config, candidates)
    except ValueError as error:
        raise ConfigError(f"policy {spec.name!r}: {error}") from None
    estimator = AcceptanceEstimator(candidates, acceptance) if rule.uses_survival else None
    return DepthController(candidates, rule, estimator, _source(cost), strict=strict)


def default_candidates(config: Any) -> Candidates:  # noqa: ANN401
    """The depths and windows a rule of this config gets where none are given.

    ``static`` may move to the usual depths but starts at its own; ``sglang-ema`` has its ladders and starts
    where the stock server does, at their upper median; any other rule has the usual depths at full context.
    """
    usual = Candidates()
    match config:
        case StaticConfig(depth=depth, window=window):
            return _including(usual, usual.start_depth if depth is None else depth, window or 0)
        case SglangEmaConfig(depths=depths):
            return Candidates(depths, start_depth=depths[len(depths) // 2])
    return usual


def _including(usual: Candidates, depth: int, window: int) -> Candidates:
    """``usual`` with this depth and window added and started at."""
    return Candidates(
        tuple(sorted({*usual.depths, depth})),
        tuple(sorted({*usual.windows, window})),
        start_depth=depth,
        start_window=window,
    )


def _source(cost: CostModel | CostSource | None) -> CostSource:
    if cost is None:
        return FixedCost(preset(DEFAULT_COST))
    return FixedCost(cost) if hasattr(cost, "seconds") else cost
