"""Least squares with inequalities, by Lawson and Hanson's reduction to non-negative least squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adaptive_depth.traces.errors import CostError

F64 = npt.NDArray[np.float64]


def constrained_fit(a: F64, b: F64, g: F64, h: F64) -> F64:
    """The x that minimises ``|a x - b|`` subject to ``g x >= h``; ``a`` must have full column rank.

    Exact and deterministic: with a = QR and z = R x - Q'b this is the least-distance problem, which one
    NNLS solves. Raises :class:`CostError` where no x meets the inequalities. Source: Lawson & Hanson,
    "Solving Least Squares Problems", chapter 23.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    q, r = np.linalg.qr(a)
    target = q.T @ b
    g_inverse = solve_triangular(r.T, g.T, lower=True).T
    distance = h - g_inverse @ target
    system = np.vstack([g_inverse.T, distance[None, :]])
    goal = np.append(np.zeros(len(r)), 1.0)
    multipliers, gap = nnls(system, goal)
    if gap < 1e-9:
        raise CostError("the published ranges leave no non-negative coefficients")
    residual = system @ multipliers - goal
    z = -residual[:-1] / residual[-1]
    solution: F64 = solve_triangular(r, z + target)
    return solution
