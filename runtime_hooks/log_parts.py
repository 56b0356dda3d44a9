"""The files of one run's decision log: appended whole lines at a time, a new part when one is full."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


class LogParts:
    """Appends bytes to ``decisions-<start>-<run>-<part>.jsonl`` in ``folder``.

    Every part opens with ``header(part)`` and, when it is full, closes with ``trailer()``. Of the parts of
    this run the newest ``kept`` stay. ``OSError`` where the disk refuses; no torn line is left behind then.
    """

    def __init__(
        self,
        folder: Path,
        run: str,
        header: Callable[[int], bytes],
        trailer: Callable[[], bytes],
        *,
        part_bytes: int,
        kept: int,
    ) -> None:
        """Nothing is opened before the first lines come."""
        """Nothing is opened before the first lines come."""
        self.folder, self._header, self._trailer = folder, header, trailer
        self._stem = f"decisions-{time.strftime('%Y%m%d-%H%M%S')}-{run}"
        self._part_bytes, self._kept = part_bytes, kept
        self._file: int | None = None
        self._part = self._size = 0

    def append(self, lines: bytes) -> None:
        """Write whole lines; opens the folder, the part and the next part as needed."""
        if self._file is not None and self._size >= self._part_bytes:
            self._write(self._trailer())
            self._next()
        if self._file is None or self._is_gone(self._file):
            self._open()
        self._write(lines)

    def _path(self, part: int) -> Path:
        return self.folder / f"{self._stem}-{part:04d}.jsonl"

    def _open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self._path(self._part), os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
        self._size = os.fstat(self._file).st_size
        if not self._size:
            self._write(self._header(self._part))

    def _is_gone(self, file: int) -> bool:
        """Somebody deleted the part: writing on would reach no reader."""
        if os.fstat(file).st_nlink:
            return False
        self._next()
        return True

    def _next(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None
        self._part += 1
        if (old := self._part - self._kept) >= 0:
            self._path(old).unlink(missing_ok=True)

    def _write(self, lines: bytes) -> None:
        assert self._file is not None  # opened by the caller
        done = 0
        try:
            while done < len(lines):
                done += os.write(self._file, lines[done:])
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += done
