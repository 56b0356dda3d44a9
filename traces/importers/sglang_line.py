"""One line of an SGLang log, in any of its dialects: who wrote it, when, and what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from adaptive_depth.traces.importers.base import Rejected

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?([^\]\[]{0,64})\]")
#: A Ray actor ``(Name pid=1, ip=...)`` or a compose service ``name  | `` ahead of the message.
_PREFIX = re.compile(r"^\s*(?:\((?P<actor>[^()]{1,80})\)|(?P<service>[\w.-]{1,80})\s*\|)")
_RANK = re.compile(r"\b(?:DP|TP|EP|PP)\d+\b")
_DECODE = re.compile(r"Decode batch(?: \[\d+\])?[.,]? +(?=#)")
_FIELD = re.compile(r"(#?[A-Za-z][\w #./()-]{0,40}?): ?([^,\s]+)")
#: Characters of a line in which its numbers must lie; keeps a hostile line from costing time.
_REACH = 4096
_COUNT = re.compile(r"\d{1,9}\Z")
_DECIMAL = re.compile(r"\d{1,9}(?:\.\d{1,9})?\Z")


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote a line: the process in front of it, its ranks, and its time (seconds; NaN unknown)."""

    process: str
    ranks: str
    time_s: float
    day: str

    @property
    def stream(self) -> str:
        """Name of the log stream: one a rank."""
        return " ".join(filter(None, (self.process, self.ranks))) or "log"

    @property
    def data_rank(self) -> str:
        """The data-parallel rank, which has a depth of its own; empty if there is one engine."""
        return next((rank for rank in self.ranks.split() if rank.startswith("DP")), "")


@dataclass(frozen=True, slots=True)
class DecodeLine:
    """The numbers of a decode line; ``None`` where the line has no such field."""

    running: int
    context: int | None
    accept_length: float | None
    accept_rate: float | None
    tokens_per_second: float | None


def plain(text: str) -> str:
    """``text`` without colour codes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def origin(text: str) -> Origin:
    """Who wrote ``text`` (already :func:`plain`) and when."""
    front = _PREFIX.match(text)
    process = (front["actor"] or front["service"]).strip() if front else ""
    stamp = _STAMP.search(text)
    if stamp is None:
        return Origin(process, "", float("nan"), "")
    ranks = " ".join(_RANK.findall(stamp[4]))
    return Origin(process, ranks, _seconds(stamp), stamp[1])


def decode_line(text: str) -> DecodeLine | None:
    """Read a decode line; ``None`` for any other, :class:`Rejected` for one whose numbers are no numbers."""
    found = _DECODE.search(text)
    if found is None:
        return None
    fields = dict(_FIELD.findall(text[found.end() : found.end() + _REACH]))
    running = _count(fields, "#running-req")
    if running is None:
        raise Rejected("a decode line without #running-req")
    tokens = _count(fields, "#full token")
    return DecodeLine(
        running,
        _count(fields, "#token") if tokens is None else tokens,
        _decimal(fields, "accept len"),
        _decimal(fields, "accept rate"),
        _decimal(fields, "gen throughput (token/s)"),
    )


def _seconds(stamp: re.Match[str]) -> float:
    try:
        moment = datetime.fromisoformat(f"{stamp[1]}T{stamp[2]}+00:00")
    except ValueError:
        return float("nan")
    return moment.timestamp() + float(f"0.{stamp[3] or 0}")


def _count(fields: dict[str, str], name: str) -> int | None:
    text = fields.get(name)
    if text is not None and not _COUNT.match(text):
        raise Rejected(f"{name} is {text[:20]!r}, expected a whole number")
    return None if text is None else int(text)


def _decimal(fields: dict[str, str], name: str) -> float | None:
    text = fields.get(name)
    if text is not None and not _DECIMAL.match(text):
        raise Rejected(f"{name} is {text[:20]!r}, expected a number")
    return None if text is None else float(text)
