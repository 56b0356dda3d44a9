"""The published figures against a preset: every anchor with its residual, and what a round costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from adaptive_depth.controller.presets import preset
from adaptive_depth.controller.published import (
    ANCHORS,
    BEST_DEPTHS,
    CONTRADICTIONS,
    MILLION,
    QUARTER,
    WINDOW,
    Anchor,
    BestDepth,
)
from adaptive_depth.policies.cost_model import COEFFICIENTS, LinearCost
from adaptive_depth.sim.anchor_fit import load_of, measure, step_ms

#: Version of the JSON form.
SCHEMA = 1
CONTEXTS = (8_000, 64_000, QUARTER, MILLION)
DEPTHS = tuple(range(10))
#: How far outside a range a fit may stand and still be called inside: the coefficients carry five digits.
ROUNDING = 5e-4


def cost_report(names: list[str]) -> dict[str, Any]:
    """Everything ``sim costs`` shows about these presets, ready for JSON."""
    presets = [_preset(name) for name in names]
    return {"schema": SCHEMA, "presets": presets, "contradictions": list(CONTRADICTIONS)}


def _preset(name: str) -> dict[str, Any]:
    cost, model = preset(name), name.split("-")[0]
    return {
        "name": name,
        "coefficients_seconds": {key: getattr(cost, key) for key in COEFFICIENTS},
        "extend_windowed": cost.extend_windowed,
        "extend_at_zero": cost.extend_at_zero,
        "anchors": [anchor_row(cost, anchor) for anchor in ANCHORS if anchor.model == model],
        "rounds": [_round_row(cost, context, window) for context in CONTEXTS for window in (0, WINDOW)],
        "best_depths": [_best_row(cost, cell) for cell in BEST_DEPTHS if cell.model == model],
    }


def anchor_row(cost: LinearCost, anchor: Anchor) -> dict[str, Any]:
    """One published figure against its fitted counterpart; residual = fitted - published, None for a
    range.
    """
    fitted, published = measure(cost, anchor), anchor.value
    return {
        "quantity": anchor.quantity,
        "source": anchor.source,
        "role": anchor.role,
        "depth": anchor.depth,
        "context": anchor.context,
        "window": anchor.window,
        "batch": anchor.batch,
        "unit": "ratio" if anchor.is_ratio else "ms",
        "published": published,
        "low": anchor.low,
        "high": anchor.high,
        "sigma": anchor.sigma if anchor.role == "fit" else None,
        "fitted": fitted,
        "residual": None if published is None else fitted - published,
        "residual_percent": None if published is None else 100 * (fitted / published - 1),
        "inside": _inside(fitted, anchor) if published is None else None,
    }


def _inside(fitted: float, anchor: Anchor) -> bool:
    """True where a range holds, to the digits that the coefficients carry."""
    low = -np.inf if anchor.low is None else anchor.low * (1 - ROUNDING)
    high = np.inf if anchor.high is None else anchor.high * (1 + ROUNDING)
    return bool(low <= fitted <= high)


def _round_row(cost: LinearCost, context: int, window: int) -> dict[str, Any]:
    """Milliseconds by depth for one request, and what each further draft adds."""
    steps = [step_ms(cost, depth, load_of(context, window)) for depth in DEPTHS]
    marginal = np.diff(steps).tolist()
    return {"context": context, "window": window, "ms": steps, "marginal_ms": marginal}


def _best_row(cost: LinearCost, cell: BestDepth) -> dict[str, Any]:
    """The accept length that a best-depth cell implies: the fitted round over the published time per
    token.
    """
    ms = step_ms(cost, cell.depth, load_of(MILLION, cell.window))
    implied = ms / cell.ms_per_token
    return {
        "task": cell.task,
        "window": cell.window,
        "depth": cell.depth,
        "ms_per_token": cell.ms_per_token,
        "accept_length": implied,
        "possible": bool(1 <= implied <= cell.depth + 1),
    }
