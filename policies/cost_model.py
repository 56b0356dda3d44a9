"""Seconds of a round as a function of depth, window, batch and context.

The rules only ever ask :meth:`CostModel.seconds`; where the numbers come from (published tables, a
profile, an online fit) is the controller's business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
#: A plain number or an array of them.
Number = Any


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


def _light(values: npt.NDArray[Any]) -> Number:
    """An array of one value as a plain number: ten times cheaper to reckon with, and it rounds the same."""
    return values.item() if values.size == 1 else values


@lru_cache(maxsize=256)
def _ladder(raw: bytes, kind: str) -> tuple[F64, tuple[int, ...]]:
    """Draft decode steps (k-1)+ of the depths in ``raw`` and where 0 stands; ladders rarely change."""
    depths = np.frombuffer(raw, kind)
    steps = np.maximum(depths.astype(np.float64) - 1, 0)
    steps.setflags(write=False)
    return steps, tuple(np.flatnonzero(depths == 0).tolist())


class CostModel(Protocol):
    """Prices a round."""

    @property
    def extend_windowed(self) -> bool:
        """True where draft-extend reads only sink + window (the paper's patch), False for stock SGLang."""

    def seconds(self, load: Load, depths: npt.NDArray[Any]) -> F64:
        """Seconds of a round at every depth: ``[..., D]`` for a load of shape ``[...]``; finite and > 0."""


@dataclass(frozen=True, slots=True)
class LinearCost:
    """The additive model, linear in its coefficients.

    T(k) = host + v0 + v1·R(k+1) + (v2 + v3·k)·ΣL + [k>=1](spec + x1·R(k+1) + x2·Σext + x3·sqrt(R·Σext))
           + (k-1)+·(f0 + f1·R + f2·Σreads)

    All coefficients are seconds and non-negative, so T grows with depth, context, window and rows.
    ``v3`` is the verify's growth with depth through its attention over the context; ``x3`` is the part
    of the draft-extend (index build) that grows slower than the context. ``host`` and ``v0`` cannot be
    told apart by timing whole rounds; both are kept because a start-up profile can. With
    ``extend_at_zero`` the x terms are paid at k = 0 too (SGLang's 0 tier keeps the draft KV warm; a
    server without a drafter pays nothing).

    >>> cost = LinearCost(v0=0.014, f0=0.0007)
    >>> load = Load(np.ones(1), np.array([1000]), np.array([1000]), np.array([1000]))
    >>> cost.seconds(load, np.array([0, 1, 3])).round(4).tolist()
    [[0.014, 0.014, 0.0154]]
    """

    host: float = 0.0
    v0: float = 0.0
    v1: float = 0.0
    v2: float = 0.0
    v3: float = 0.0
    spec: float = 0.0
    x1: float = 0.0
    x2: float = 0.0
    x3: float = 0.0
    f0: float = 0.0
    f1: float = 0.0
    f2: float = 0.0
    extend_windowed: bool = False
    extend_at_zero: bool = True

    def seconds(self, load: Load, depths: npt.NDArray[Any]) -> F64:
        """Seconds at every depth, ``[..., D]``; see the class for the formula.

        Computed as T(1) + (k-1)·slope with T(0) put in after: two passes over every depth, whatever the
        number of terms. Only elementwise operations, so a group's price does not depend on the groups
        beside it.
        """
        steps, zeros = _ladder(depths.tobytes(), depths.dtype.str)
        rows, context, reads = _light(load.rows), _light(load.context), _light(load.reads)
        idle = rows * self.v1 + context * self.v2 + (self.host + self.v0)
        extend = self._extend(rows, _light(load.extend))
        attend = context * self.v3
        first = idle + attend + extend + (rows * (self.v1 + 2 * self.x1) + self.spec)
        slope = attend + reads * self.f2 + (rows * (self.v1 + self.x1 + self.f1) + self.f0)
        one = isinstance(slope, float) and isinstance(first, float)
        shape = () if one else np.broadcast(load.rows, load.context, load.extend, load.reads).shape
        # Depth leads until the end: long inner loops are three times faster.
        total: F64 = np.empty((len(steps), *shape))
        np.multiply(steps.reshape(-1, *(1,) * len(shape)), slope, out=total)
        total += first
        for row in zeros:
            total[row] = idle + (extend + rows * self.x1) if self.extend_at_zero else idle
        if one:
            most = max(load.rows.ndim, load.context.ndim, load.extend.ndim, load.reads.ndim)
            return total.reshape(*(1,) * most, -1)
        return total.transpose(*range(1, total.ndim), 0)

    def _extend(self, rows: Number, extend: Number) -> Number:
        """Seconds of draft-extend that depend on context, ``[...]``."""
        if not self.x3:
            return extend * self.x2
        area = extend * rows
        root = (math.sqrt(area) if isinstance(area, float) else np.sqrt(area)) * self.x3
        return root + extend * self.x2 if self.x2 else root


#: Coefficients a fit can tell apart by timing whole rounds (``host`` is in ``v0``), in feature order.
COEFFICIENTS = ("v0", "v1", "v2", "v3", "spec", "x1", "x2", "x3", "f0", "f1", "f2")


def round_features(load: Load, depth: npt.NDArray[Any], extend_at_zero: bool) -> F64:
    """What each of :data:`COEFFICIENTS` is multiplied by in a round of ``depth[...]``: ``[..., F]``.

    The dot product with the coefficients is :meth:`LinearCost.seconds` at that depth (a test holds them
    together).
    """
    k = np.asarray(depth, np.float64)
    rows, extend = np.asarray(load.rows, np.float64), np.asarray(load.extend, np.float64)
    speculates = (k > 0).astype(np.float64)
    steps, width = np.maximum(k - 1, 0), rows * (k + 1)
    drafter = 1.0 if extend_at_zero else speculates
    shape = np.broadcast(k, rows, load.context, extend, load.reads).shape
    out = np.empty((*shape, len(COEFFICIENTS)))
    root = np.sqrt(rows * extend)
    verify = (1.0, width, load.context, load.context * k, speculates)
    draft = (width * drafter, extend * drafter, root * drafter, steps, steps * rows, steps * load.reads)
    for index, column in enumerate((*verify, *draft)):
        out[..., index] = column
    return out
