"""Lines of a file that may be huge, torn or not text at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from adaptive_depth.traces.importers.base import Problem, Progress, Rejected

#: A line longer than this is skipped and named. A prompt of 1M token ids is about 8 MiB.
LINE_LIMIT = 64 << 20
_BOM = b"\xef\xbb\xbf"


def raw_lines(path: Path, progress: Progress) -> Iterator[tuple[int, bytes] | Problem]:
    """Yield ``(line number, bytes with their line end)``; a line above :data:`LINE_LIMIT` is a problem."""
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(LINE_LIMIT):
            number += 1
            skipped = 0 if raw.endswith(b"\n") else _skip_rest(file)
            progress(len(raw) + skipped)
            if skipped:
                size = (len(raw) + skipped) >> 20
                yield Problem(
                    path, number, f"line of {size} MiB is above the limit of {LINE_LIMIT >> 20} MiB"
                )
            else:
                yield number, raw.removeprefix(_BOM) if number == 1 else raw


def text_lines(path: Path, progress: Progress) -> Iterator[tuple[int, str] | Problem]:
    """Yield ``(line number, text)`` of lines that must be clean UTF-8; empty ones are passed over."""
    for item in raw_lines(path, progress):
        if isinstance(item, Problem):
            yield item
            continue
        number, raw = item
        if not raw.strip():
            continue
        fault = byte_fault(raw)
        yield Problem(path, number, fault) if fault else (number, raw.decode())


def log_lines(path: Path, progress: Progress) -> Iterator[tuple[int, str] | Problem]:
    """Yield ``(line number, text)`` of a log, in which stray bytes are replaced, not refused."""
    for item in raw_lines(path, progress):
        yield item if isinstance(item, Problem) else (item[0], item[1].decode(errors="replace"))


def take_lines(path: Path, progress: Progress, take: Callable[[str], None]) -> Iterator[Problem]:
    """Hand every line of a log to ``take``; yield a problem for each that cannot be read or is rejected."""
    for item in log_lines(path, progress):
        if isinstance(item, Problem):
            yield item
            continue
        line, text = item
        try:
            take(text)
        except Rejected as reason:
            yield Problem(path, line, str(reason))


def byte_fault(raw: bytes) -> str | None:
    """Why bytes are no text, or ``None``."""
    if b"\x00" in raw:
        return f"holds {raw.count(0)} NUL bytes (a torn write?)"
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"is not UTF-8 at byte {error.start}"
    return None


def _skip_rest(file: IO[bytes]) -> int:
    """Read on to the line's end without keeping it; the number of bytes passed."""
    skipped = 0
    while part := file.readline(1 << 20):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped
