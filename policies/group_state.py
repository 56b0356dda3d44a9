"""Per-group arrays of a rule that grow as new groups appear."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class GroupState:
    """Named arrays indexed by group identity; a group not seen before starts with the defaults.

    >>> state = GroupState(depth=3, regret=0.0)
    >>> state.reserve(np.array([0, 5]))
    >>> state["depth"][5]
    3
    """

    def __init__(self, **defaults: int | float) -> None:
        self._defaults = defaults
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
            grown = np.full(size, default, np.int64 if isinstance(default, int) else np.float64)
            grown[: self._size] = self._arrays.get(name, grown)[: self._size]
            self._arrays[name] = grown
        self._size = size

    def state_dict(self) -> dict[str, Any]:
        """Copies of all arrays."""
        return {name: array.copy() for name, array in self._arrays.items()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value; missing names or unequal lengths are a ValueError."""
        arrays = {name: np.asarray(state[name], self._arrays[name].dtype).copy() for name in self._defaults}
        sizes = {array.shape for array in arrays.values()}
        if len(sizes) != 1 or len(sizes.copy().pop()) != 1:
            raise ValueError(f"group state has unequal shapes {sorted(sizes)}")
        self._arrays, self._size = arrays, len(next(iter(arrays.values())))
