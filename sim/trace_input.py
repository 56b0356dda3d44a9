"""The traces that a command line names: what opens is read, what does not is said once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from adaptive_depth.traces.errors import TraceFormatError
from adaptive_depth.traces.store import TraceReader, find_traces


def open_traces(paths: Iterable[Path], report: Callable[[str], None]) -> Iterator[TraceReader]:
    """Open every trace at or below ``paths``, each file once; ``report`` gets a line for what is unusable."""
    seen: set[Path] = set()
    for path in paths:
        try:
            found = find_traces([path])
        except TraceFormatError as error:
            report(str(error))
            continue
        for file in found:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield from _opened(file, report)


def _opened(path: Path, report: Callable[[str], None]) -> Iterator[TraceReader]:
    try:
        reader = TraceReader(path)
    except TraceFormatError as error:
        report(str(error))
        return
    yield reader
