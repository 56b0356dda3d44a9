"""Seconds of a round as a function of depth, window, batch and context.

The rules only ever ask :meth:`CostModel.seconds`; where the numbers come from (published tables, a profile, an online
fit) is the controller's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """What a group brings to a round. All arrays broadcast together to ``[...]`` (for example ``[G, W]``).

    rows     requests R in the group
    context  ΣL, committed tokens over the group
    extend   Σ ext(L), context tokens read by draft-extend
    reads    Σ min(L, w + s), context tokens read by ONE draft decode step
    """

    rows: npt.NDArray[Any]
    context: npt.NDArray[Any]
    extend: npt.NDArray[Any]
    reads: npt.NDArray[Any]


class CostModel(Protocol):
    """Prices a round."""

    @property
    def extend_windowed(self) -> bool:
        """True where draft-extend reads only sink + window (the paper's patch), False for stock SGLang."""

    def seconds(self, load: Load, depths: npt.NDArray[Any]) -> F64:
        """Seconds of a round at every depth: ``[..., D]`` for a load of shape ``[...]``; finite and > 0."""


@dataclass(frozen=True, slots=True)
class LinearCost:
    """The additive model.

    T = host + v0 + v1·R(k+1) + v2·ΣL + x1·R(k+1) + x2·Σext(L) + [k>=2](k-1)·(f0 + f1·R + f2·Σreads)

    All coefficients are seconds and non-negative. ``host`` and ``v0`` cannot be told apart by timing whole rounds;
    both are kept because a start-up profile can. The x terms are paid at k = 0 only if ``extend_at_zero`` (SGLang keeps
    the draft KV warm at its 0 tier; a server without speculation does not). ``spec`` is paid once per round at k >= 1.

    >>> cost = LinearCost(v0=0.014, f0=0.0007, v1=0.0, spec=0.0)
    >>> load = Load(np.ones(1), np.array([1000]), np.array([1000]), np.array([1000]))
    >>> cost.seconds(load, np.array([0, 1, 3])).round(4).tolist()
    [[0.014, 0.014, 0.0154]]
    """

    host: float = 0.0
    v0: float = 0.0
    v1: float = 0.0
    v2: float = 0.0
    spec: float = 0.0
    x1: float = 0.0
    x2: float = 0.0
    f0: float = 0.0
    f1: float = 0.0
    f2: float = 0.0
    extend_windowed: bool = False
    extend_at_zero: bool = True

    def seconds(self, load: Load, depths: npt.NDArray[Any]) -> F64:
        """Seconds at every depth, ``[..., D]``; see the class for the formula."""
        k = depths.astype(np.float64)
        drafting = (k > 0) | self.extend_at_zero
        width = (k + 1) * (self.v1 + self.x1 * drafting)
        steps = np.maximum(k - 1, 0)
        rows = np.asarray(load.rows, np.float64)[..., None]
        once = self.host + self.v0 + self.v2 * np.asarray(load.context, np.float64)
        extend = self.x2 * np.asarray(load.extend, np.float64)
        step = self.f0 + self.f1 * np.asarray(load.rows, np.float64) + self.f2 * np.asarray(load.reads, np.float64)
        total: F64 = (
            once[..., None] + rows * width + extend[..., None] * drafting + step[..., None] * steps + self.spec * (k > 0)
        )
        return total
