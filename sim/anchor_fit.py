"""Fits a :class:`LinearCost` to published anchors and measures how well each is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from adaptive_depth.controller.published import MILLION, SINK, WINDOW, Anchor
from adaptive_depth.policies.cost_model import LinearCost, Load
from adaptive_depth.sim.constrained_fit import constrained_fit

F64 = npt.NDArray[np.float64]

#: What a fit for one request can move. ``host`` is in ``v0``, and one request cannot tell ``f1`` from
#: ``f0``.
FITTED = ("v0", "v1", "v2", "v3", "spec", "x1", "x2", "x3", "f0", "f2")
#: How large each coefficient's share of a deep 1M round may be before the ridge weighs as much as one
#: sigma, in ms. It only decides between coefficients that the anchors cannot tell apart.
RIDGE_MS = 20.0


def unit(name: str, value: float = 1.0) -> LinearCost:
    """A cost of the paper's set-up (windowed extend, no drafter at depth 0) with one coefficient."""
    return LinearCost(extend_windowed=True, extend_at_zero=False, **{name: value})


def load_of(context: int, window: int, batch: int = 1, sink: int = SINK) -> Load:
    """The load of ``batch`` requests of one context and window where extend is windowed too."""
    reads = min(context, window + sink) if window else context
    rows, total, read = (np.array([v], np.float64) for v in (batch, batch * context, batch * reads))
    return Load(rows, total, read, read)


def step_ms(cost: LinearCost, depth: int, load: Load) -> float:
    """Milliseconds of one round."""
    return float(cost.seconds(load, np.array([depth]))[0, 0] * 1e3)


def measure(cost: LinearCost, anchor: Anchor) -> float:
    """The fitted counterpart of an anchor, in its unit."""
    over, under = _parts(cost, anchor)
    return over / under if anchor.is_ratio else over


def _parts(cost: LinearCost, anchor: Anchor) -> tuple[float, float]:
    """Numerator and denominator of an anchor, each linear in the coefficients (denominator 1 without
    ratio).
    """
    here = load_of(anchor.context, anchor.window, anchor.batch)
    full = load_of(anchor.context, 0, anchor.batch)
    match anchor.quantity:
        case "step":
            return step_ms(cost, anchor.depth, here), 1.0
        case "forward":
            return _forward_ms(cost, here), 1.0
        case "context_build":
            return _build_ms(cost, full) - _build_ms(cost, load_of(anchor.context, WINDOW)), 1.0
        case "round_to_verify":
            bare = replace(cost, spec=0.0, x1=0.0, x2=0.0, x3=0.0, f0=0.0, f1=0.0, f2=0.0)
            return step_ms(cost, anchor.depth, here), step_ms(bare, anchor.depth, here)
        case "windowed_to_full":
            return _forward_ms(cost, here), _forward_ms(cost, full)
        case "batch_to_one":
            one = load_of(anchor.context, anchor.window)
            return step_ms(cost, anchor.depth, here), step_ms(cost, anchor.depth, one)


def _forward_ms(cost: LinearCost, load: Load) -> float:
    """Milliseconds that one more draft adds to the draft phase: its decode step and its extend row."""
    drafting = replace(cost, host=0.0, v0=0.0, v1=0.0, v2=0.0, v3=0.0)
    return step_ms(drafting, 3, load) - step_ms(drafting, 2, load)


def _build_ms(cost: LinearCost, load: Load) -> float:
    """Milliseconds of draft-extend that depend on context."""
    return step_ms(LinearCost(x2=cost.x2, x3=cost.x3), 1, load)


def _matrix(anchors: Sequence[Anchor], scale: F64, part: int) -> F64:
    """One row an anchor: its numerator (part 0) or denominator (part 1) for each scaled unit
    coefficient.
    """
    costs = [unit(name, s) for name, s in zip(FITTED, scale, strict=True)]
    rows = [[_parts(cost, anchor)[part] for cost in costs] for anchor in anchors]
    return np.array(rows).reshape(len(anchors), len(FITTED))


def _scale() -> F64:
    """Coefficients that cost 1 ms each in a windowless depth-6 round at 1M, so that the ridge is fair."""
    load = load_of(MILLION, 0)
    return np.array([1.0 / step_ms(unit(name), 6, load) for name in FITTED])


def _inequalities(anchors: Sequence[Anchor], scale: F64) -> tuple[F64, F64]:
    """Rows g, h of ``g x >= h``: every coefficient >= 0 and every range kept (a ratio's side is moved
    over).
    """
    rows, sides = [np.eye(len(FITTED))], [np.zeros(len(FITTED))]
    for sign, limit in ((1.0, "low"), (-1.0, "high")):
        held = [a for a in anchors if a.role == "bound" and getattr(a, limit) is not None]
        bounds = np.array([getattr(a, limit) for a in held])
        ratio = np.array([a.is_ratio for a in held])
        over, under = _matrix(held, scale, 0), _matrix(held, scale, 1)
        rows.append(sign * (over - np.where(ratio, bounds, 0.0)[:, None] * under))
        sides.append(sign * np.where(ratio, 0.0, bounds))
    return np.vstack(rows), np.concatenate(sides)


def fit_anchors(anchors: Sequence[Anchor]) -> LinearCost:
    """The non-negative coefficients nearest to the ``fit`` anchors (by sigma) that keep every ``bound``.

    A weak ridge towards 0 makes the answer unique. Raises :class:`CostError` where the ranges contradict
    each other.
    """
    scale = _scale()
    fitted = [a for a in anchors if a.role == "fit" and a.value is not None]
    values = np.array([a.value for a in fitted], np.float64)
    weight = 1.0 / (values * np.array([a.sigma for a in fitted]))
    a = np.vstack([_matrix(fitted, scale, 0) * weight[:, None], np.eye(len(FITTED)) / RIDGE_MS])
    b = np.concatenate([values * weight, np.zeros(len(FITTED))])
    x = np.maximum(constrained_fit(a, b, *_inequalities(anchors, scale)), 0.0) * scale
    return replace(unit("v0", 0.0), **dict(zip(FITTED, x.tolist(), strict=True)))
