"""Follows the decision log in a folder: the newest run, part after part, without ever touching the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from adaptive_depth.runtime_hooks.live.picture import Picture
from adaptive_depth.runtime_hooks.live.snapshot import Link, Snapshot

#: Of a part that is already there at most its end is read.
TAIL = 8 << 20
#: Bytes read at one look, so that the view stays alive beside a fast writer.
PORTION = 4 << 20


class LogSource:
    """Reads what was appended since the last look; a new part or a newer run in the folder is followed.

    ``place`` is the folder given to ``--adaptive-depth-log``, or one file in it.
    """

    def __init__(self, place: Path) -> None:
        """Nothing is opened before the first look."""
        self._place = place
        self._picture = Picture()
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._rest = b""

    def read(self, now: float) -> Snapshot:
        """Look once; a log that is not there is a state of the snapshot, not an error."""
        try:
            self._follow()
        except OSError as error:
            reason = f"{error.strerror or error}: {error.filename or self._place}"
            return self._shown(now, Link.DISCONNECTED, reason)
        if self._path is None:
            return self._shown(now, Link.DISCONNECTED, "no decision log there yet")
        if not self._path.exists():
            return self._shown(now, Link.DISCONNECTED, "the decision log was deleted")
        return self._shown(now)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _shown(self, now: float, link: Link | None = None, note: str = "") -> Snapshot:
        snapshot = self._picture.snapshot(str(self._place), now)
        if link is None:
            return snapshot
        return replace(snapshot, link=link, notes=(*snapshot.notes, note))

    def _follow(self) -> None:
        while True:
            if self._file is None and not self._open_next():
                return
            self._picture.feed(self._records())
            if not self._finished():
                return
            self.close()

    def _open_next(self) -> bool:
        """Open the part that follows, or the newest run's last one; False while there is none."""
        found = self._parts()
        after = [path for path in found if self._path is not None and path.name > self._path.name]
        if not found or (self._path is not None and not after and self._path in found):
            return False
        same_run = [path for path in after if self._path is not None and _run(path) == _run(self._path)]
        path = same_run[0] if same_run else _last_but_one(found)
        if self._path is None or _run(path) != _run(self._path):
            self._picture = Picture()
        self._file, self._path, self._rest = path.open("rb"), path, b""
        self._skip_to_tail(self._file)
        return True

    def _skip_to_tail(self, file: BinaryIO) -> None:
        """Read the header, then leap over all but the end of a part that has grown large."""
        size = file.seek(0, 2)
        file.seek(0)
        if size > TAIL:
            self._picture.feed(_parsed([file.readline()]))
            file.seek(size - TAIL)
            file.readline()

    def _records(self) -> Iterator[object]:
        assert self._file is not None  # opened by the caller
        lines = (self._rest + self._file.read(PORTION)).split(b"\n")
        self._rest = lines.pop()
        yield from _parsed(lines)

    def _finished(self) -> bool:
        """Everything here is read and a later part, or a newer run, has begun."""
        assert self._file is not None and self._path is not None
        behind = self._path.exists() and self._path.stat().st_size > self._file.tell()
        return not behind and any(path.name > self._path.name for path in self._parts())

    def _parts(self) -> list[Path]:
        """Parts in the order they were written: their names hold the start, the run and the part."""
        if self._place.is_file():
            return [self._place]
        return sorted(self._place.glob("decisions-*.jsonl"))


def _last_but_one(parts: list[Path]) -> Path:
    """The newest run's last part but one, where there is one: the last may just have begun."""
    return parts[-2] if len(parts) > 1 and _run(parts[-2]) == _run(parts[-1]) else parts[-1]


def _run(path: Path) -> str:
    return path.name.rpartition("-")[0]


def _parsed(lines: list[bytes]) -> Iterator[object]:
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError:
                yield None
