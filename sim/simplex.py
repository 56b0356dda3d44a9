"""Minimises a function that moves in jumps, as everything does that counts simulated rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adaptive_depth.traces.records import F64


def minimise(
    function: Callable[[F64], float], start: F64, steps: F64, evaluations: int, tolerance: float
) -> F64:
    """Nelder and Mead's simplex from ``start`` and the points one of ``steps`` away from it.

    Ends after so many ``evaluations``, or when the simplex is within ``tolerance`` in place and value.
    """
    from scipy.optimize import minimize

    found = minimize(
        function,
        start,
        method="Nelder-Mead",
        options={
            "initial_simplex": np.vstack([start, start + np.diag(steps)]),
            "maxfev": evaluations,
            "xatol": tolerance,
            "fatol": tolerance,
        },
    )
    best: F64 = np.asarray(found.x, np.float64)
    return best
