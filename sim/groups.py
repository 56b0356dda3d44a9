"""Counts of rounds by a named group: context band, workload, window or depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.sim.inspection import Group
from adaptive_depth.sim.round_tally import ratio

I64 = npt.NDArray[np.int64]
Ints = npt.NDArray[Any]

#: Context bands and the tokens each begins at; -1 is an unknown context.
BANDS = ("unknown", "<8K", "8-32K", "32-128K", "128-512K", ">=512K")
_BAND_STARTS = np.array([0, 8 << 10, 32 << 10, 128 << 10, 512 << 10])


def band_index(context: Ints) -> I64:
    """Index into :data:`BANDS` for every context length, i64[M]."""
    index: I64 = np.searchsorted(_BAND_STARTS, context, side="right")
    return index


class GroupTally:
    """Collect requests, rounds and tokens by group."""

    def __init__(self) -> None:
        """Start empty."""
        self._sums: dict[str, I64] = {}

    def add(self, names: Sequence[str], index: Ints, owner: Ints, tokens: Ints) -> None:
        """Round m belongs to group ``names[index[m]]`` and request ``owner[m]`` and gave ``tokens[m]``.

        ``owner`` counts within this call: a request may not be split between two calls.
        """
        size = len(names)
        pairs = np.unique(owner.astype(np.int64) * size + index)
        requests = np.bincount(pairs % size, minlength=size) if size else np.zeros(0, np.int64)
        rounds = np.bincount(index, minlength=size)
        total = np.bincount(index, weights=tokens, minlength=size).astype(np.int64)
        for name, sums in zip(names, np.stack([requests, rounds, total], axis=1), strict=True):
            if sums[1]:
                self._sums[name] = self._sums.get(name, np.zeros(3, np.int64)) + sums

    def result(self, order: Sequence[str] | None = None) -> tuple[Group, ...]:
        """Groups that have rounds, in the given order, else by name."""
        names = [name for name in order if name in self._sums] if order is not None else sorted(self._sums)
        sums = [(name, *self._sums[name].tolist()) for name in names]
        return tuple(Group(n, requests, rounds, t, ratio(t, rounds)) for n, requests, rounds, t in sums)


def labels(values: Sequence[str]) -> tuple[list[str], I64]:
    """Group by text: names and the index of each value."""
    names = sorted(set(values))
    index = {name: i for i, name in enumerate(names)}
    return names, np.array([index[value] for value in values], np.int64)


def numbers(values: Ints, unknown: str = "unknown") -> tuple[list[str], I64]:
    """Group by number: names and the index of each value; -1 is ``unknown``."""
    distinct, index = np.unique(values, return_inverse=True)
    return [unknown if value == -1 else str(value) for value in distinct.tolist()], index


def by_number(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Sort groups named by numbers; unknown comes first."""
    return tuple(sorted(groups, key=lambda group: int(group.name) if group.name.isdigit() else -1))
