"""vLLM server logs: ``SpecDecoding metrics`` windows as intervals.

A window must satisfy ``AL = 1 + sum of the per-position rates`` to rounding, and what it accepted cannot
exceed what it drafted; otherwise it is named and left out. The depth is the one of the launch line, else
the number of positions; it holds for a window only if ``AL = 1 + accepted / (drafted / depth)`` too: where
rounds drafted less (grammar, adaptive drafting) it is unknown. Running requests, throughput and cache use
come from the engine line ahead of a window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Piece, Progress, Rejected
from adaptive_depth.traces.importers.fields import DEEPEST, label
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.intervals import Interval, Stream, intervals_block
from adaptive_depth.traces.importers.lines import take_lines
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.sglang_line import plain
from adaptive_depth.traces.importers.yearless_clock import YearlessClock
from adaptive_depth.traces.records import UNKNOWN

_MARK = re.compile(rb"SpecDecoding metrics: ")
_DEPTH = re.compile(r"num_spec(?:ulative)?_tokens['\"]?\s*[:=]\s*(\d{1,4})\b")
_MODEL = re.compile(r"vllm serve (\S{1,200})")
_DRAFTER = re.compile(r"['\"]method['\"]: ?['\"](\w{1,40})['\"]")
_CACHE = re.compile(r"GPU KV cache size: ([\d,]{1,12}) tokens")
_ENGINE = re.compile(r"Engine (\d{1,6}): ")
_RUNNING = re.compile(r"Running: (\d{1,9}) reqs")
_THROUGHPUT = re.compile(r"Avg generation throughput: (\d{1,9}(?:\.\d+)?) tokens/s")
_USAGE = re.compile(r"KV cache usage: (\d{1,3}(?:\.\d+)?)%")
_ACCEPTED = re.compile(r"\bAccepted: ([^\s,]+) tokens")
_DRAFTED = re.compile(r"\bDrafted: ([^\s,]+) tokens")
_LENGTH = re.compile(r"Mean acceptance length: ([^\s,]+)")
_POSITIONS = re.compile(r"Per-position acceptance rate: (.*?)(?:, [A-Z]|\s*$)")
#: Characters of a window in which its numbers must lie; keeps a hostile line from costing time.
_REACH = 8192


@dataclass(slots=True)
class _Log:
    """What is known so far."""

    streams: dict[str, Stream] = field(default_factory=dict)
    clock: YearlessClock = field(default_factory=YearlessClock)
    depth: int = UNKNOWN
    model: str = "unknown"
    drafter: str = "unknown"
    cache_tokens: int = 0
    engine: str = "log"
    beside: Interval = field(default_factory=Interval)


@dataclass(frozen=True, slots=True)
class _Window:
    accept_length: float
    accepted: int
    drafted: int
    rates: tuple[float, ...]


def matches(head: Head) -> bool:
    """The file holds a metrics window."""
    return head.contains(_MARK)


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield one intervals piece with a stream an engine."""
    log = _Log()
    yield from take_lines(path, progress, lambda text: _take(log, plain(text)))
    if log.streams:
        yield _piece(path, log)


def _take(log: _Log, text: str) -> None:
    if (at := text.find("SpecDecoding metrics: ")) >= 0:
        _add(log, text, _window(text[at : at + _REACH]))
    elif engine := _ENGINE.search(text):
        log.engine = f"engine {engine[1]}"
        log.beside = _beside(log, text)
    else:
        _configure(log, text)


def _configure(log: _Log, text: str) -> None:
    if log.depth == UNKNOWN and (depth := _DEPTH.search(text)) and 0 < int(depth[1]) <= DEEPEST:
        log.depth = int(depth[1])
    if model := _MODEL.search(text):
        log.model = label(model[1], "unknown")
    if log.drafter == "unknown" and (drafter := _DRAFTER.search(text)):
        log.drafter = label(drafter[1], "unknown")
    if cache := _CACHE.search(text):
        log.cache_tokens = int(cache[1].replace(",", "") or 0)


def _beside(log: _Log, text: str) -> Interval:
    """What an engine line says about the window that follows it."""
    running, rate, usage = _RUNNING.search(text), _THROUGHPUT.search(text), _USAGE.search(text)
    tokens = round(float(usage[1]) / 100 * log.cache_tokens) if usage else 0
    return Interval(
        running=int(running[1]) if running else UNKNOWN,
        context=tokens or UNKNOWN,  # 0 % is "too little to show"
        tokens_per_second=float(rate[1]) if rate else float("nan"),
    )


def _window(text: str) -> _Window:
    listed = _POSITIONS.search(text)
    rates = [part.strip() for part in listed[1].split(",") if part.strip()] if listed else []
    window = _Window(
        _number(_LENGTH.search(text), "Mean acceptance length"),
        int(_number(_ACCEPTED.search(text), "Accepted")),
        int(_number(_DRAFTED.search(text), "Drafted")),
        tuple(_parsed(rate, "a per-position rate") for rate in rates),
    )
    _check(window)
    return window


def _check(window: _Window) -> None:
    if window.accepted > window.drafted:
        raise Rejected(f"accepted {window.accepted} of {window.drafted} drafted tokens")
    if window.accept_length < 1:
        raise Rejected(f"mean acceptance length {window.accept_length} is below 1, the bonus alone")
    if any(rate > 1 for rate in window.rates) or len(window.rates) > DEEPEST:
        raise Rejected("per-position rates are no shares")
    slack = 0.0051 + 0.0005 * len(window.rates)
    if window.rates and abs(1 + sum(window.rates) - window.accept_length) > slack:
        total = 1 + sum(window.rates)
        raise Rejected(
            f"mean acceptance length {window.accept_length} is not 1 + Σ per-position = {total:.3f}"
        )


def _add(log: _Log, text: str, window: _Window) -> None:
    stream = log.streams.setdefault(log.engine, Stream(log.engine))
    interval = log.beside._replace(
        time_s=log.clock.seconds(text),
        depth=_depth(log, window),
        accept_length=window.accept_length,
        accepted=window.accepted,
        drafted=window.drafted,
    )
    stream.add(interval, window.rates)
    log.beside = Interval()


def _depth(log: _Log, window: _Window) -> int:
    depth = log.depth if log.depth != UNKNOWN else len(window.rates) or UNKNOWN
    if depth == UNKNOWN or not window.drafted:
        return UNKNOWN
    implied = 1 + window.accepted / (window.drafted / depth)
    return depth if abs(implied - window.accept_length) <= 0.0051 else UNKNOWN


def _number(found: re.Match[str] | None, name: str) -> float:
    if found is None:
        raise Rejected(f"a metrics window without {name}")
    return _parsed(found[1], name)


def _parsed(text: str, name: str) -> float:
    if not re.fullmatch(r"\d{1,12}(?:\.\d{1,9})?", text):
        raise Rejected(f"{name} is {text[:20]!r}, expected a number")
    return float(text)


def _piece(path: Path, log: _Log) -> Piece:
    streams = list(log.streams.values())
    header = TraceHeader(
        kind="intervals",
        origin="imported",
        trace_set=set_name(path),
        k_max=max(0, *(int(stream.column("depth").max()) for stream in streams)),
        engine="vllm",
        model=log.model,
        drafter=log.drafter,
        provenance=f"vLLM log, {source(path)}",
        notes="context is the printed cache use times the cache size",
    )
    return Piece(header, intervals_block(streams, header.trace_set))


IMPORTER = Importer("vllm-log", matches, convert)
