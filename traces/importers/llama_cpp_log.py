"""llama.cpp logs: one ``draft acceptance`` line a request, as intervals.

``draft acceptance = 0.64479 ( 167 accepted / 259 generated), mean acceptance length = 2.92`` or, older,
``draft acceptance rate = ...`` without the length. ``adaptive draft depth seq 0: 7 -> 6`` sets the depth
from then on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Piece, Problem, Progress, Rejected
from adaptive_depth.traces.importers.fields import DEEPEST
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.intervals import Interval, Stream, intervals_block
from adaptive_depth.traces.importers.lines import log_lines
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.sglang_line import plain
from adaptive_depth.traces.records import UNKNOWN

_MARK = re.compile(rb"draft acceptance(?: rate)? = ")
_LINE = re.compile(r"draft acceptance(?: rate)? = \S+ \( *(\d{1,12}) accepted / *(\d{1,12}) generated\)")
_LENGTH = re.compile(r"mean acceptance length = (\d{1,9}(?:\.\d{1,9})?)(?=[,\s]|$)")
_RATES = re.compile(r"acceptance rate per position = \(([\d., ]*)\)")
_DEPTH = re.compile(r"adaptive draft depth seq \d+: \d{1,4} -> (\d{1,4})\b")


def matches(head: Head) -> bool:
    """The file holds a draft acceptance line."""
    return head.contains(_MARK)


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield one intervals piece with a single stream."""
    stream, depth = Stream("log"), UNKNOWN
    for item in log_lines(path, progress):
        if isinstance(item, Problem):
            yield item
            continue
        line, text = item[0], plain(item[1])
        if found := _DEPTH.search(text):
            depth = int(found[1]) if int(found[1]) <= DEEPEST else UNKNOWN
        elif "draft acceptance" in text:
            try:
                stream.add(*_interval(text, depth))
            except Rejected as reason:
                yield Problem(path, line, str(reason))
    if len(stream):
        yield _piece(path, stream)


def _interval(text: str, depth: int) -> tuple[Interval, tuple[float, ...]]:
    found, length, rates = _LINE.search(text), _LENGTH.search(text), _RATES.search(text)
    if found is None:
        raise Rejected("a draft acceptance line without '( A accepted / B generated)'")
    accepted, drafted = int(found[1]), int(found[2])
    if accepted > drafted:
        raise Rejected(f"accepted {accepted} of {drafted} drafts")
    shares = tuple(_share(part) for part in rates[1].split(",") if part.strip()) if rates else ()
    mean = float(length[1]) if length else float("nan")
    return Interval(depth=depth, accept_length=mean, accepted=accepted, drafted=drafted), shares


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise Rejected(f"{text.strip()[:20]!r} is no acceptance rate")
    return share


def _piece(path: Path, stream: Stream) -> Piece:
    header = TraceHeader(
        kind="intervals",
        origin="imported",
        trace_set=set_name(path),
        k_max=max(0, int(stream.column("depth").max())),
        engine="llama.cpp",
        provenance=f"llama.cpp log, {source(path)}",
    )
    return Piece(header, intervals_block([stream], header.trace_set))


IMPORTER = Importer("llama-cpp-log", matches, convert)
