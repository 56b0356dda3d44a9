"""SGLang server logs: decode lines as intervals, with the depth that the log itself tells.

The depth is not in a decode line. It comes, in this order, from ``Adaptive spec params updated: steps A ->
B`` and ``AdaptiveSpeculativeParams initialized`` lines, which set it from then on; from the server
arguments; or from the printed accept rate where only one reading of it fits every line of the stream.
Otherwise it is unknown.

A line that shows running requests but no token in use was printed while the pool was being emptied: such
flush artefacts are left out and counted in the header's notes. The first interval after an idle time has a
throughput that covers the idle time too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.accept_rate import EraFinder
from adaptive_depth.traces.importers.base import Importer, Item, Piece, Progress, Rejected
from adaptive_depth.traces.importers.fields import DEEPEST, label
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.intervals import Interval, Stream, intervals_block
from adaptive_depth.traces.importers.lines import take_lines
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.sglang_line import DecodeLine, Origin, decode_line, origin, plain
from adaptive_depth.traces.records import UNKNOWN

_MARK = re.compile(rb"Decode batch(?: \[\d+\])?[.,]? +#running-req: ")
_UPDATED = re.compile(r"Adaptive spec params updated: steps (\d{1,4}) -> (\d{1,4})\b")
_INITIAL = re.compile(r"AdaptiveSpeculativeParams initialized: steps=(\d{1,4})\b")
_LAUNCH = re.compile(r"server_args=|ServerArgs\(|sglang[. ](?:launch_server|serve)\b")
_STEPS = re.compile(r"speculative[_-]num[_-]steps['\"]?(?:\s*[:=]\s*|\s+)(\d{1,4})\b")
_WIDTH = re.compile(r"speculative[_-]num[_-]draft[_-]tokens['\"]?(?:\s*[:=]\s*|\s+)(\d{1,4})\b")
_ADAPTIVE = re.compile(r"speculative_adaptive['\"]?\s*[:=]\s*True|--speculative-adaptive(?![\w-])")
_MODEL = re.compile(r"model[_-]path['\"]?(?:\s*[:=]\s*|\s+)['\"]?([^'\",\s)]{1,200})")
#: Lengths are printed with two decimals.
_HALF = 0.005


@dataclass(slots=True)
class _Log:
    """What is known so far. Keys are (process, data-parallel rank)."""

    streams: dict[str, Stream] = field(default_factory=dict)
    eras: dict[tuple[str, str], EraFinder] = field(default_factory=dict)  # by (process, stream)
    depth: dict[tuple[str, str], int] = field(default_factory=dict)
    adaptive: set[str] = field(default_factory=set)
    notes: Counter[str] = field(default_factory=Counter)
    model: str = "unknown"


def matches(head: Head) -> bool:
    """The file holds a decode line."""
    return head.contains(_MARK)


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield one intervals piece with a stream a rank."""
    log = _Log()
    yield from take_lines(path, progress, lambda text: _take(log, plain(text)))
    if log.streams:
        _infer_depths(log)
        yield _piece(path, log)


def _take(log: _Log, text: str) -> None:
    if "Decode batch" in text:
        decoded = decode_line(text)
        if decoded is not None:
            _add(log, origin(text), decoded)
    elif updated := _UPDATED.search(text):
        _set_depth(log, origin(text), int(updated[2]), adaptive=True)
    elif initial := _INITIAL.search(text):
        _set_depth(log, origin(text), int(initial[1]), adaptive=True)
    elif _LAUNCH.search(text):
        _launch(log, origin(text), text)


def _launch(log: _Log, source: Origin, text: str) -> None:
    """A server starts: what was known of this process no longer holds."""
    for key in [key for key in log.depth if key[0] == source.process]:
        del log.depth[key]
    log.adaptive.discard(source.process)
    model, steps, width = _MODEL.search(text), _STEPS.search(text), _WIDTH.search(text)
    log.model = label(model[1], "unknown") if model else log.model
    if _ADAPTIVE.search(text):
        log.adaptive.add(source.process)
    elif steps:
        _set_depth(log, source, int(steps[1]))
    elif width:
        _set_depth(log, source, int(width[1]) - 1)


def _set_depth(log: _Log, source: Origin, depth: int, adaptive: bool = False) -> None:
    if not 0 <= depth <= DEEPEST:
        raise Rejected(f"a depth of {depth} is outside 0..{DEEPEST}")
    log.depth[source.process, source.data_rank] = depth
    if adaptive:
        log.adaptive.add(source.process)


def _add(log: _Log, source: Origin, line: DecodeLine) -> None:
    if line.context == 0 and line.running:
        log.notes["flush artefacts left out"] += 1
        return
    depth = _checked_depth(log, source, line)
    stream = log.streams.setdefault(source.stream, Stream(label(source.stream, "log")))
    if depth == UNKNOWN and line.accept_length is not None and line.accept_rate is not None:
        era = log.eras.setdefault((source.process, source.stream), EraFinder())
        era.add(line.accept_length, line.accept_rate, source.day)
    stream.add(
        Interval(
            time_s=source.time_s,
            running=line.running,
            context=UNKNOWN if line.context is None else line.context,
            depth=depth,
            accept_length=_or_nan(line.accept_length),
            tokens_per_second=_or_nan(line.tokens_per_second),
        )
    )


def _checked_depth(log: _Log, source: Origin, line: DecodeLine) -> int:
    """The depth in force; unknown where an interval that spans a change of depth contradicts it."""
    places = ((source.process, source.data_rank), (source.process, ""), ("", ""))
    depth = next((log.depth[place] for place in places if place in log.depth), UNKNOWN)
    if line.accept_length is not None and line.accept_length + _HALF < 1:
        raise Rejected(f"accept len {line.accept_length} is below 1, the bonus alone")
    if depth == UNKNOWN or line.accept_length is None or line.accept_length - _HALF <= depth + 1:
        return depth
    if source.process in log.adaptive:
        log.notes["intervals across a change of depth"] += 1
        return UNKNOWN
    raise Rejected(f"accept len {line.accept_length} is above {depth} drafts and the bonus")


def _infer_depths(log: _Log) -> None:
    """Fill in the depth where a stream's accept rates leave one reading and nothing adapts."""
    for (process, name), finder in log.eras.items():
        reading = finder.reading()
        depth = log.streams[name].column("depth")
        if reading is None or process in log.adaptive:
            log.notes["streams of unknown depth"] += 1
            continue
        depth[depth == UNKNOWN] = reading[1]
        log.notes[f"depth {reading[1]} read off accept rates of era {reading[0]}"] += 1


def _piece(path: Path, log: _Log) -> Piece:
    streams = list(log.streams.values())
    deepest = max(int(stream.column("depth").max()) for stream in streams)
    header = TraceHeader(
        kind="intervals",
        origin="imported",
        trace_set=set_name(path),
        k_max=max(0, deepest),
        engine="sglang",
        model=log.model,
        provenance=f"SGLang log, {source(path)}",
        notes="; ".join(f"{what}: {count}" for what, count in log.notes.items()),
    )
    return Piece(header, intervals_block(streams, header.trace_set))


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


IMPORTER = Importer("sglang-log", matches, convert)
