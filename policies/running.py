"""Running products and sums along a chain, at the price of one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: Values from which on it is cheaper to go position by position: NumPy accumulates a short axis slowly.
MANY = 1024


def running(ufunc: np.ufunc, values: npt.NDArray[Any], *, in_place: bool = False) -> npt.NDArray[Any]:
    """``ufunc.accumulate`` along the last axis, bit for bit the same however many rows there are.

    >>> running(np.add, np.array([[1.0, 2.0, 3.0]])).tolist()
    [[1.0, 3.0, 6.0]]
    """
    if values.size < MANY:
        accumulated: npt.NDArray[Any] = ufunc.accumulate(values, axis=-1, out=values if in_place else None)
        return accumulated
    out = values if in_place else values.copy()
    for position in range(1, out.shape[-1]):
        ufunc(out[..., position - 1], out[..., position], out=out[..., position])
    return out
