"""Seconds of a round from a table of depth by batch, for engines whose rounds were timed or rated as they
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.cost_model import Load
from adaptive_depth.traces.errors import CostError

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Largest batch a table may hold; prices are laid out for every batch up to it.
MAX_BATCH = 65_536
_MAX_DEPTH = 127


@dataclass(frozen=True)
class TableCost:
    """Measured rounds: ``table[d][b]`` seconds at ``depths[d]`` and ``batches[b]``, NaN where not measured.

    Use it where the cost is a staircase or the context is short: context and window do not enter. Between
    two batches the price is interpolated on logarithmic axes, piecewise linear; outside the table it is
    that of the nearest batch. A depth that is not in the table, or a batch behind the last one measured
    for its depth, costs infinity: no rule will choose it, and ``depths`` says which may be candidates.

    >>> cost = TableCost((0, 3), (1, 4), ((0.010, 0.020), (0.015, 0.060)))
    >>> one = np.ones(1)
    >>> cost.seconds(Load(2 * one, one, one, one), np.array([0, 3, 5])).round(4).tolist()
    [[0.0141, 0.03, inf]]
    """

    depths: tuple[int, ...]
    batches: tuple[int, ...]
    table: tuple[tuple[float, ...], ...]
    #: What the reader left out or assumed, for the person who uses the table.
    notes: tuple[str, ...] = ()
    extend_windowed: bool = False
    _prices: F64 = field(init=False, repr=False, compare=False)
    _column: I64 = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the table and lay it out by batch."""
        _check(self)
        prices = [_by_batch(self.batches, row) for row in self.table]
        nowhere = np.full(self.batches[-1] + 1, np.inf)
        column = np.full(_MAX_DEPTH + 1, len(prices), np.int64)
        column[list(self.depths)] = np.arange(len(prices))
        object.__setattr__(self, "_prices", np.stack([*prices, nowhere], axis=1))
        object.__setattr__(self, "_column", column)

    def seconds(self, load: Load, depths: npt.NDArray[Any]) -> F64:
        """Seconds at every depth, ``[..., D]``; infinity where the table has none."""
        rows = np.minimum(np.maximum(load.rows, 1), self.batches[-1]).astype(np.int64)
        priced: F64 = self._prices[rows[..., None], self._column[depths]]
        shape = np.broadcast(load.rows, load.context, load.extend, load.reads).shape
        return priced if priced.shape[:-1] == shape else np.broadcast_to(priced, (*shape, len(depths))).copy()

    @classmethod
    def from_cells(cls, cells: Mapping[tuple[int, int], float], notes: Iterable[str] = ()) -> TableCost:
        """The table of seconds by (depth, batch); pairs that are absent stay unmeasured."""
        depths = tuple(sorted({depth for depth, _ in cells}))
        batches = tuple(sorted({batch for _, batch in cells}))
        table = tuple(tuple(cells.get((depth, batch), np.nan) for batch in batches) for depth in depths)
        return cls(depths, batches, table, tuple(notes))


def _check(cost: TableCost) -> None:
    """Raise :class:`CostError` for a table that cannot price anything."""
    depths, batches = cost.depths, cost.batches
    if not depths or list(depths) != sorted(set(depths)) or depths[0] < 0 or depths[-1] > _MAX_DEPTH:
        raise CostError(f"depths must ascend within 0..{_MAX_DEPTH} without repeats, got {list(depths)}")
    if not batches or list(batches) != sorted(set(batches)) or batches[0] < 1 or batches[-1] > MAX_BATCH:
        raise CostError(f"batches must ascend within 1..{MAX_BATCH} without repeats, got {list(batches)}")
    if len(cost.table) != len(depths) or any(len(row) != len(batches) for row in cost.table):
        raise CostError(f"the table must have {len(depths)} rows (depths) of {len(batches)} cells (batches)")
    for depth, row in zip(depths, cost.table, strict=True):
        known = [value for value in row if not np.isnan(value)]
        if not known:
            raise CostError(f"depth {depth} has no seconds at any batch")
        if not all(0 < value < np.inf for value in known):
            raise CostError(f"seconds of depth {depth} must be finite and above 0, got {known}")


def _by_batch(batches: tuple[int, ...], row: tuple[float, ...]) -> F64:
    """Seconds at batch 0..last (0 as 1), interpolated; infinity behind a row that ends before the table
    does.
    """
    known = [(batch, value) for batch, value in zip(batches, row, strict=True) if not np.isnan(value)]
    where, seconds = (np.log(np.array(part, np.float64)) for part in zip(*known, strict=True))
    every = np.maximum(np.arange(batches[-1] + 1), 1)
    out: F64 = np.exp(np.interp(np.log(every), where, seconds))
    out[[batch for batch, _ in known]] = [value for _, value in known]  # as measured, without rounding
    out[known[-1][0] + 1 :] = np.inf
    return out
