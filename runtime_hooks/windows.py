"""The draft windows of the round being launched, as the attention backends' hooks read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.runtime_hooks.foreign import Foreign

#: Stands for "all of the context": longer than any, and safe to add to in 32 bits.
FULL = 1 << 30


class DraftWindows:
    """Holds one window a request while a decode round is launched, and nothing outside of that.

    ``caps`` are the prefix tokens each row may read, ``window + sink`` or :data:`FULL`, int64 on the device.
    """

    def __init__(self, sink: int, extend: bool, device: str) -> None:
        """``extend``: draft-extend keeps to the windows too."""
        self.sink, self.extend, self._device = sink, extend, device
        self._host: npt.NDArray[np.int64] | None = None
        self._caps: Any = None

    def choose(self, window: npt.NDArray[np.int32]) -> None:
        """The windows of the round about to be launched, ``[R]``; 0 is full context."""
        self._caps = None
        self._host = np.where(window > 0, window.astype(np.int64) + self.sink, FULL) if window.any() else None

    def clear(self) -> None:
        """The launch is over."""
        self._host = self._caps = None

    def caps(self, rows: int) -> Foreign:
        """Caps of ``rows`` requests, int64[rows] on the device; ``None`` where every row reads everything.

        A graph's batch may be padded beyond the requests; padding reads everything, which is one token.
        """
        if self._host is None:
            return None
        if len(self._host) > rows:
            raise ValueError(f"windows were planned for {len(self._host)} requests, {rows} are drafted for")
        if self._caps is None or len(self._caps) != rows:
            self._caps = self._on_device(
                np.pad(self._host, (0, rows - len(self._host)), constant_values=FULL)
            )
        return self._caps

    def _on_device(self, caps: npt.NDArray[np.int64]) -> Foreign:
        import torch

        tensor = torch.from_numpy(caps)
        if self._device == "cpu":
            return tensor
        # Pinned memory is kept by the allocator until the copy is done, so nothing waits here.
        return tensor.pin_memory().to(self._device, non_blocking=True)


def windowed_rows(table: Foreign, prefix: Foreign, extra: int, caps: Foreign, sink: int) -> tuple[Any, Any]:
    """Page-table rows with the middle of the prefix left out.

    ``table[R, N]`` are slots by position, ``prefix[R]`` the tokens before the ``extra`` newest ones. Row r of
    the result holds the first ``sink`` slots, the most recent of the prefix up to ``caps[r]`` in all, then
    the newest ones. Returns it with the prefix tokens kept, ``[R]``.
    """
    import torch

    keep = torch.minimum(prefix, caps)
    head = torch.clamp(keep, max=sink)
    columns = torch.arange(int(keep.max()) + extra, device=table.device)[None, :]
    source = columns + (prefix - keep)[:, None] * (columns >= head[:, None])
    return table.gather(1, source.clamp_(max=table.shape[1] - 1)), keep
