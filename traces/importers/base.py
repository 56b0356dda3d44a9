"""What every importer shares: its parts, the problems it reports, and how a bad record is set aside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import Block

if TYPE_CHECKING:
    from adaptive_depth.traces.importers.head import Head

#: Called with the number of bytes read since the last call.
Progress: TypeAlias = Callable[[int], None]


class Rejected(Exception):
    """A record that cannot be used; the message is the reason. Never leaves an importer."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One record, line or file that was left out, and why. ``line`` counts from 1; 0 means the whole file."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        """``path:line: reason``, one line for a person."""
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some requests of one trace set. ``k_max`` and notes of the header hold for the pieces so far."""

    header: TraceHeader
    block: Block


Item: TypeAlias = Piece | Problem


@dataclass(slots=True)
class Imported:
    """A whole source: blocks with the header of their trace set, and what was left out."""

    traces: list[tuple[TraceHeader, Block]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Importer:
    """One foreign format: how to know it by content, and how to turn it into trace blocks.

    Use ``stream`` for files that may be larger than memory and ``read`` for small ones.

    >>> from adaptive_depth.traces.importers import IMPORTERS
    >>> [importer.name for importer in IMPORTERS][:2]
    ['decision-log', 'specdecode-bench']
    """

    name: str
    matches: Callable[[Head], bool]
    convert: Callable[[Path, Progress], Iterator[Item]]
    #: The other file whose import takes this one in, where a format spreads over several.
    belongs_to: Callable[[Path], Path | None] = lambda path: None

    def stream(self, path: Path, progress: Progress | None = None) -> Iterator[Item]:
        """Yield pieces and problems as they are found; an unreadable file is a problem, not an error."""
        try:
            yield from self.convert(Path(path), progress or _ignore)
        except OSError as error:
            yield Problem(Path(path), 0, f"cannot be read: {error.strerror or error}")

    def read(self, path: Path) -> Imported:
        """Collect ``stream``; all blocks of a trace set carry its final header."""
        items = list(self.stream(path))
        pieces = [item for item in items if isinstance(item, Piece)]
        final = {piece.header.trace_set: piece.header for piece in pieces}
        return Imported(
            [(final[piece.header.trace_set], piece.block) for piece in pieces],
            [item for item in items if isinstance(item, Problem)],
        )


def each_record(
    path: Path,
    records: Iterable[tuple[int, object] | Problem],
    convert: Callable[[int, object], Iterable[Item]],
) -> Iterator[Item]:
    """Convert records one by one; one that is :class:`Rejected` becomes a problem and costs only itself."""
    for item in records:
        if isinstance(item, Problem):
            yield item
            continue
        line, record = item
        try:
            yield from convert(line, record)
        except Rejected as reason:
            yield Problem(path, line, str(reason))


def _ignore(count: int) -> None:
    """Progress that nobody watches."""
