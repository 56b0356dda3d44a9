"""Gives every running request a small number, where the controller keeps what it learned of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

#: A request that shared no round for this many rounds has ended in a way that no hook saw.
LOST_ROUNDS = 512
SWEEP_ROUNDS = 128


class SlotTable:
    """Request id -> slot. SGLang's own pool index will not do: it is given away again before a late result.

    >>> table = SlotTable()
    >>> table.of(["a", "b"]).tolist(), table.release(["a"]), table.of(["c"]).tolist()
    ([0, 1], [0], [0])
    """

    def __init__(self) -> None:
        """No request runs yet."""
        self._slot: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._free: list[int] = []
        self._round = 0

    def __len__(self) -> int:
        """Requests that have a slot."""
        return len(self._slot)

    def __contains__(self, rid: str) -> bool:
        """Whether this request has a slot."""
        return rid in self._slot

    def of(self, rids: Sequence[str]) -> npt.NDArray[np.int32]:
        """Slots of the requests about to run a round, i32[R]; a new request gets a free one."""
        self._round += 1
        for rid in rids:
            if rid not in self._slot:
                self._slot[rid] = self._free.pop() if self._free else len(self._slot)
            self._seen[rid] = self._round
        return np.array([self._slot[rid] for rid in rids], np.int32)

    def release(self, rids: Iterable[str]) -> list[int]:
        """Give up the slots of these requests; one without a slot is passed over."""
        gone = [rid for rid in rids if rid in self._slot]
        slots = [self._slot.pop(rid) for rid in gone]
        self._free.extend(slots)
        for rid in gone:
            del self._seen[rid]
        return slots

    def lost(self) -> list[str]:
        """Requests not seen for a long time; looked for every :data:`SWEEP_ROUNDS` rounds."""
        if self._round % SWEEP_ROUNDS:
            return []
        return [rid for rid, seen in self._seen.items() if self._round - seen > LOST_ROUNDS]
