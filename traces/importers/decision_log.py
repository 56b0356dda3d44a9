"""Decision logs of our own server plugin: rounds as they were played, request by request.

The parts of one run are read as one set, beginning with the earliest part in the folder. A request's rows
are gathered until it ends. Its positions follow from the tokens its rounds kept; where rounds were dropped,
or the log begins in its midst, the count the controller was given sets them right. Rows whose request had
ended before the result came kept nothing and are left out. Seconds are those of steady rounds: a prefill or
a stall in between, and the first round of a graph, are no sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_depth.traces.decisions import FINISHED, STALE, Round, Row
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Problem, Progress, Rejected
from adaptive_depth.traces.importers.decision_records import check_version, is_header, read_config, read_round
from adaptive_depth.traces.importers.fields import label, whole
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.json_source import json_records
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.rounds import Rounds, RoundsBuilder

#: Records without rounds.
_SILENT = ("log", "late", "control", "fault")


@dataclass(slots=True)
class _Request:
    """A running request's rounds so far."""

    prompt: int
    output: int
    position: list[int] = field(default_factory=list)
    cap: list[int] = field(default_factory=list)
    window: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    emitted: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    batch: list[int] = field(default_factory=list)

    def add(self, row: Row, seconds: float, batch: int) -> None:
        """Append one round."""
        self.output = max(self.output, row.generated)
        self.position.append(self.output)
        for name, value in (("cap", row.cap), ("window", row.window), ("accepted", row.accepted)):
            getattr(self, name).append(value)
        self.emitted.append(row.emitted)
        self.seconds.append(seconds)
        self.batch.append(batch)
        self.output += row.emitted

    def finish(self, name: str, stop: str) -> Rounds:
        """The request as it goes into a block."""
        columns = (self.accepted, self.position, self.emitted)
        accepted, position, emitted = (np.array(values, np.int64) for values in columns)
        return Rounds(
            name,
            accepted,
            position,
            emitted,
            self.output,
            stop_reason=stop,
            context=self.prompt,
            depth=np.array(self.cap, np.int64),
            window=np.array(self.window, np.int64),
            seconds=np.array(self.seconds),
            batch=np.array(self.batch, np.int64),
        )


@dataclass(slots=True)
class _Run:
    """One run's set: its requests in flight and the blocks they go to."""

    builder: RoundsBuilder
    running: dict[str, _Request] = field(default_factory=dict)

    def take(self, record: Mapping[str, Any]) -> Iterator[Item]:
        """One record that is no trailer."""
        if "round" in record:
            yield from self._round(read_round(record))
        elif "forget" in record:
            names = record.get("rids")
            for name in names if isinstance(names, list) else []:
                yield from self._end(label(name, "unnamed"), label(record.get("why"), "unknown"))
        elif not any(kind in record for kind in _SILENT):
            raise Rejected("holds none of the records of a decision log")

    def flush(self) -> Iterator[Item]:
        """What never ended, and the last block."""
        for name in tuple(self.running):
            yield from self._end(name, "unknown")
        yield from self.builder.flush()

    def _round(self, played: Round) -> Iterator[Item]:
        live = [row for row in played.rows if row.state != STALE]
        seconds = math.nan if played.marks else played.seconds[0]
        for row in live:
            request = self.running.setdefault(row.rid, _begun(row))
            request.add(row, seconds, len(played.rows))
        for row in live:
            if row.state == FINISHED:
                yield from self._end(row.rid, "finished")

    def _end(self, name: str, stop: str) -> Iterator[Item]:
        if stop != "retracted" and (request := self.running.pop(name, None)) is not None:
            yield from self.builder.add(request.finish(name, stop))


def matches(head: Head) -> bool:
    """The file holds a decision log's header, or rounds of one whose header is lost."""
    return any(is_header(record) or {"round", "planned", "rows"} <= record.keys() for record in head.records)


def belongs_to(path: Path) -> Path | None:
    """The part whose import takes this file in: the earliest of its run in the folder, if that is another."""
    first = _parts(path)[0]
    return None if first == path else first


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield rounds pieces of the whole run that ``path`` opens; a newer release's log is one problem."""
    run: _Run | None = None
    for part in _parts(path):
        for item in _records(part, progress):
            if isinstance(item, Problem):
                yield item
                continue
            line, record = item
            try:
                if is_header(record):
                    check_version(record)
                run = run or _Run(RoundsBuilder(_header(path, record)))
                yield from run.take(record)
            except Rejected as reason:
                yield Problem(part, line, str(reason))
                if is_header(record):
                    return
    if run is not None:
        yield from run.flush()


def _begun(row: Row) -> _Request:
    # Prefill samples the first token, so no request decodes from position 0; under overlap its count lags.
    output = max(1, row.generated)
    # Committed tokens lack the one sampled last: it is the next round's input.
    return _Request(max(0, row.context - row.generated + 1), output)


def _parts(path: Path) -> list[Path]:
    """The parts of the run in the same folder, in order; ``path`` alone where it has no part number."""
    stem, dash, part = path.stem.rpartition("-")
    if not dash or not part.isdigit():
        return [path]
    found = [
        p for p in path.parent.glob(f"{stem}-*{path.suffix}") if p.stem.removeprefix(stem + "-").isdigit()
    ]
    return sorted(found) or [path]


def _records(path: Path, progress: Progress) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """The records of one part without its trailers, and what the trailers show to be missing."""
    lines = before = 0
    last: object = None
    for item in json_records(path, progress):
        if isinstance(item, Problem) or not isinstance(item[1], dict):
            lines += 1
            yield item if isinstance(item, Problem) else Problem(path, item[0], "expected an object")
        elif "trailer" in item[1]:
            last = item[1]["trailer"]
        elif is_header(item[1]):
            before = _count(item[1].get("counts"), "records")
            yield item[0], item[1]
        else:
            lines, last = lines + 1, None
            yield item[0], item[1]
    yield from _missing(path, last, before, lines)


def _missing(path: Path, trailer: object, before: int, lines: int) -> Iterator[Problem]:
    if trailer is None:
        yield Problem(path, 0, "does not end in a trailer: the server was killed, or still writes")
        return
    if lines < (said := _count(trailer, "records") - before):
        yield Problem(path, 0, f"holds {lines} records, its trailer counts {said}")
    if dropped := _count(trailer, "dropped"):
        yield Problem(path, 0, f"{dropped} records of the run were dropped before they were written")


def _count(counts: object, name: str) -> int:
    value = counts.get(name, 0) if isinstance(counts, dict) else 0
    return value if isinstance(value, int) else 0


def _header(path: Path, record: Mapping[str, Any]) -> TraceHeader:
    """From a log's header; from any other record, where that is lost, with what it would say unknown."""
    config = read_config(record) if is_header(record) else {}
    backend, versions = (config.get(name) or {} for name in ("backend", "versions"))
    windows = config.get("windows")
    known = sorted({whole(w, "window") for w in windows}) if isinstance(windows, list) else []
    return TraceHeader(
        kind="rounds",
        origin="recorded",
        trace_set=set_name(path).rpartition("-")[0] or set_name(path),
        windows=tuple(known) or (0,),
        sink=whole(config.get("sink", 0), "sink"),
        engine=f"sglang {label(versions.get('sglang'), 'unknown')}",
        model=label(backend.get("model"), "unknown"),
        drafter=label(backend.get("draft_model") or backend.get("algorithm"), "unknown"),
        hardware=label(backend.get("hardware") or backend.get("device"), "unknown"),
        sampler=label(backend.get("sampler"), "unknown"),
        provenance=f"decision log, {source(path)}",
        notes=f"policy {label((config.get('policy') or {}).get('policy'), 'unknown')}",
    )


IMPORTER = Importer("decision-log", matches, convert, belongs_to)
