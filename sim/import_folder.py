"""Import whole folders: walk them, know each file by content, write one trace file a trace set."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from adaptive_depth.sim.import_tally import Tally
from adaptive_depth.traces.errors import TraceFormatError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers import Head, Importer, Piece, Problem, Progress, recognise
from adaptive_depth.traces.importers.naming import safe
from adaptive_depth.traces.store import SUFFIX, TraceReader, TraceWriter, write_trace


@dataclass(slots=True)
class ImportedSet:
    """One trace set of one source file, as it was written."""

    header: TraceHeader
    source: Path
    importer: str
    path: Path
    #: The header that the scratch file was begun with.
    begun: TraceHeader
    tally: Tally = field(default_factory=Tally)
    #: Problems of the source file (shared by the sets of one file).
    problems: int = 0


@dataclass(slots=True)
class Report:
    """What became of the sources. ``skipped`` names files that are no traces."""

    sets: list[ImportedSet] = field(default_factory=list)
    problems: int = 0
    skipped: int = 0


#: Told of each problem as it is found; the flag says that a whole file was passed over.
Notice = Callable[[Problem, bool], None]


def source_files(sources: Iterable[Path]) -> Iterator[Path | Problem]:
    """Every file below the sources once, sorted within each; what is missing or no file is a problem."""
    seen: set[Path] = set()
    for source in sources:
        for item in _below(source):
            if isinstance(item, Problem):
                yield item
            elif (real := item.resolve()) not in seen:
                seen.add(real)
                yield item


def import_all(
    sources: Iterable[Path], out: Path, notice: Notice, progress: Progress | None = None
) -> Report:
    """Import every recognised file into ``out``; :class:`TraceFormatError` where that cannot be written.

    Blocks go through a scratch folder below ``out``, so that a file of any size passes in bounded memory and
    its header can state what only the end of the source tells.
    """
    report = Report()
    try:
        out.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=".import-", dir=out)
    except OSError as error:
        raise TraceFormatError(out, 0, f"cannot be written: {error.strerror}") from None
    with scratch as folder:
        for item in source_files(sources):
            if isinstance(item, Problem):
                _tell(report, notice, item)
            else:
                _import_file(item, Path(folder), report, notice, progress)
        _finish(report.sets, out)
    return report


def _below(source: Path) -> Iterator[Path | Problem]:
    try:
        if source.is_dir():
            yield from _walk(source)
        elif source.is_file():
            yield source
        else:
            yield Problem(source, 0, "is not a regular file" if source.exists() else "no such file or folder")
    except OSError as error:
        yield Problem(source, 0, f"cannot be read: {error.strerror or error}")


def _walk(folder: Path) -> Iterator[Path | Problem]:
    denied: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=denied.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))  # .git, our own scratch
        for name in sorted(files):
            path = Path(parent, name)
            yield path if path.is_file() else Problem(path, 0, "is not a regular file")
    for error in denied:
        yield Problem(Path(error.filename), 0, f"cannot be read: {error.strerror}")


def _tell(report: Report, notice: Notice, problem: Problem, skipped: bool = False) -> None:
    report.skipped += skipped
    report.problems += not skipped
    notice(problem, skipped)


def _import_file(
    path: Path, scratch: Path, report: Report, notice: Notice, progress: Progress | None
) -> None:
    head = Head(path)
    try:
        importer = recognise(head)
        reason = "" if importer else head.why_unknown()
    except OSError as error:
        _tell(report, notice, Problem(path, 0, f"cannot be read: {error.strerror or error}"))
        return
    if importer is None:
        _tell(report, notice, Problem(path, 0, reason), skipped=True)
        return
    if importer.belongs_to(path) is not None:
        return
    before = report.problems
    found = _spool(
        path, importer, scratch / str(len(report.sets)), lambda p: _tell(report, notice, p), progress
    )
    if not found:
        _tell(report, notice, Problem(path, 0, f"looks like {importer.name} but holds no usable record"))
    for one in found:
        one.problems = report.problems - before
    report.sets += found


def _spool(
    path: Path, importer: Importer, stem: Path, problem: Callable[[Problem], None], progress: Progress | None
) -> list[ImportedSet]:
    """Write the pieces of one file to scratch files, one a trace set."""
    sets: dict[str, ImportedSet] = {}
    writers: dict[str, TraceWriter] = {}
    with ExitStack() as opened:
        for item in importer.stream(path, progress):
            if isinstance(item, Problem):
                problem(item)
                continue
            name = item.header.trace_set
            if name not in sets:
                target = stem.with_name(f"{stem.name}-{len(sets)}{SUFFIX}")
                sets[name] = ImportedSet(item.header, path, importer.name, target, item.header)
                writers[name] = opened.enter_context(TraceWriter(target, item.header))
            _keep(sets[name], writers[name], item)
    return list(sets.values())


def _keep(one: ImportedSet, writer: TraceWriter, piece: Piece) -> None:
    one.header = piece.header
    one.tally.add(piece.block)
    writer.write(piece.block)


def _finish(sets: list[ImportedSet], out: Path) -> None:
    """Give the scratch files their names, and their headers where only the end told them."""
    for one, name in zip(sets, _names(sets), strict=True):
        one.header = one.header.model_copy(update={"trace_set": name})
        target = out / f"{name}{SUFFIX}"
        if one.header == one.begun:
            _move(one.path, target)
        else:
            write_trace(target, one.header, TraceReader(one.path).blocks())
        one.path = target


def _move(scratch: Path, target: Path) -> None:
    try:
        scratch.replace(target)
    except OSError as error:
        raise TraceFormatError(target, 0, f"cannot be written: {error.strerror}") from None


def _names(sets: list[ImportedSet]) -> list[str]:
    """The sets' names; where several agree each gets its folder's name, then a number."""
    plain = Counter(one.header.trace_set.casefold() for one in sets)
    taken: Counter[str] = Counter()
    names = []
    for one in sets:
        name = one.header.trace_set
        if plain[name.casefold()] > 1:
            name = f"{safe(one.source.resolve().parent.name)}-{name}"
        taken[name.casefold()] += 1
        count = taken[name.casefold()]
        names.append(name if count == 1 else f"{name}-{count}")
    return names
