"""Non-negative least squares on a small normal matrix, exact, with NumPy alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]


def nonnegative(matrix: F64, rhs: F64, guess: Bool) -> F64:
    """The x >= 0 that minimises x'Mx / 2 - rhs'x for a positive definite M ``[F, F]``; ``guess`` marks x
    > 0.

    Block principal pivoting: swap every violated sign at once while that helps, then one at a time
    (Murty), which always ends. A good guess ends in one solve. Source: Kim and Park, "Fast nonnegative
    matrix factorization", SIAM J. Sci. Comput. 33 (2011).
    """
    free, best, patience = guess.copy(), len(rhs) + 1, 3
    eye, zero = np.eye(len(rhs)), 1e-10 * float(np.abs(rhs).max(initial=0.0))
    x = np.zeros(len(rhs))
    for _ in range(50 * len(rhs)):
        x = np.linalg.solve(np.where(free[:, None] & free, matrix, eye), np.where(free, rhs, 0.0))
        # Free coordinates must not be negative; at the bound, the gradient must not be.
        wrong = np.where(free, x, matrix @ x - rhs) < -zero
        count = int(np.count_nonzero(wrong))
        if not count:
            break
        if count < best:
            best, patience = count, 3
        else:
            patience -= 1
        if patience < 0:
            wrong[: len(wrong) - 1 - int(np.argmax(wrong[::-1]))] = False
        free ^= wrong
    return np.maximum(x, 0.0)
