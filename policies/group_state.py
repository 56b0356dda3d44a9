"""Per-group arrays of a rule that grow as new groups appear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


class GroupState:
    """Named arrays indexed by group identity; a group not seen before starts with the defaults.

    A default that is an array gives every group one of its shape and type; a number is an int64 or float64.

    >>> state = GroupState(depth=3, regret=0.0, seen=np.zeros(2, np.float32))
    >>> state.reserve(np.array([0, 5]))
    >>> state["depth"][5].item(), state["seen"][5].tolist()
    (3, [0.0, 0.0])
    """

    def __init__(self, **defaults: int | float | npt.NDArray[Any]) -> None:
        self._defaults = {name: np.asarray(default) for name, default in defaults.items()}
        self._size = 0
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._grow(16)

    def reserve(self, groups: npt.NDArray[Any]) -> None:
        """Make room for these identities (ascending)."""
        if len(groups) and groups[-1] >= self._size:
            self._grow(max(int(groups[-1]) + 1, 2 * self._size))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name]

    def _grow(self, size: int) -> None:
        for name, default in self._defaults.items():
            grown = np.empty((size, *default.shape), default.dtype)
            grown[self._size :] = default
            grown[: self._size] = self._arrays.get(name, grown)[: self._size]
            self._arrays[name] = grown
        self._size = size

    def state_dict(self) -> dict[str, Any]:
        """Copies of all arrays."""
        return {name: array.copy() for name, array in self._arrays.items()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value; missing names or unequal lengths are a ValueError."""
        if missing := self._defaults.keys() - state.keys():
            raise ValueError(f"group state lacks {sorted(missing)}")
        arrays = {name: np.array(state[name], default.dtype) for name, default in self._defaults.items()}
        shapes = {name: (*array.shape[:1], *self._defaults[name].shape) for name, array in arrays.items()}
        lengths = {array.shape[:1] for array in arrays.values()}
        if len(lengths) != 1 or any(array.shape != shapes[name] for name, array in arrays.items()):
            raise ValueError(f"group state has shapes {[array.shape for array in arrays.values()]}")
        self._arrays, (self._size,) = arrays, lengths.pop()
