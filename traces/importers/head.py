"""The first look at a file: enough of its content to know the format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from adaptive_depth.traces.importers.base import Problem
from adaptive_depth.traces.importers.json_source import json_records

_RECORDS, _ITEMS = 16, 64
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_CHUNK, _OVERLAP = 1 << 20, 4 << 10


@dataclass(frozen=True)
class Head:
    """What importers look at. Reading it raises ``OSError`` where the file cannot be read."""

    path: Path

    @cached_property
    def start(self) -> bytes:
        """The first 4 KiB."""
        with self.path.open("rb") as file:
            return file.read(_OVERLAP)

    @cached_property
    def binary(self) -> bool:
        """Whether control bytes show that this is no text. NUL alone does not: a torn write leaves those."""
        return _CONTROL.search(self.start) is not None

    @cached_property
    def _items(self) -> list[tuple[int, object] | Problem]:
        if self.binary:
            return []
        return list(islice(json_records(self.path, lambda count: None), _ITEMS))

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The first JSON objects of the file (lines, list items or the document); empty for other files."""
        found = [item[1] for item in self._items if not isinstance(item, Problem)]
        return [record for record in found if isinstance(record, dict)][:_RECORDS]

    def contains(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the pattern occurs anywhere; reads the file in chunks until it does."""
        if self.binary:
            return False
        kept = b""
        with self.path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                if pattern.search(kept + chunk):
                    return True
                kept = chunk[-_OVERLAP:]
        return False

    def why_unknown(self) -> str:
        """The reason to give for a file that no importer knows."""
        if not self.start:
            return "is empty"
        if self.start.startswith(b"PAR1"):
            return "is Parquet: already a trace, or no trace"
        faults = [item for item in self._items if isinstance(item, Problem)]
        if faults and self.start.lstrip()[:1] in (b"{", b"["):
            where = f"line {faults[0].line}: " if faults[0].line else ""
            return f"no known trace format ({where}{faults[0].reason})"
        if self.binary or b"\x00" in self.start:
            return "no known trace format (binary)"
        return "no known trace format"
