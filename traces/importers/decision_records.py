"""Strict reading of a decision log's records; what is wrong with one is rejected by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from adaptive_depth.traces.decisions import LOG_NAME, LOG_VERSION, RUNNING, SECONDS, STALE, Round, Row
from adaptive_depth.traces.importers.base import Rejected
from adaptive_depth.traces.importers.fields import DEEPEST, label, number, section, whole


def is_header(record: object) -> bool:
    """Whether a record opens a decision log of any version."""
    return isinstance(record, dict) and record.get("log") == LOG_NAME


def check_version(record: Mapping[str, Any]) -> None:
    """:class:`Rejected` for a header of a newer release, naming both versions."""
    version = whole(record.get("version"), "version", 1)
    if version > LOG_VERSION:
        raise Rejected(f"decision log version {version}; this release reads up to {LOG_VERSION}")


def read_round(record: Mapping[str, Any]) -> Round:
    """The round of a record; :class:`Rejected` names what is wrong with it."""
    rows = record.get("rows")
    if not isinstance(rows, list):
        raise Rejected("a round without rows")
    depth = whole(record.get("depth"), "depth", 0, DEEPEST)
    return Round(
        plan_id=whole(record.get("round"), "round"),
        time=number(record.get("time"), "time"),
        depth=depth,
        before=whole(record.get("before"), "before", -1, DEEPEST),
        reason=label(record.get("why"), "unknown"),
        seconds=_seconds(record.get("seconds")),
        sample=_or_nan(record.get("sample"), "sample"),
        marks=whole(record.get("marks"), "marks"),
        planned=whole(record.get("planned"), "planned"),
        observed=whole(record.get("observed"), "observed"),
        rows=tuple(_row(row, depth) for row in rows),
    )


def read_late(record: Mapping[str, Any]) -> tuple[int, tuple[float, ...]]:
    """Round and seconds of a record of stages that ended after their round's result."""
    return whole(record.get("late"), "late"), _seconds(record.get("seconds"))


def read_config(header: Mapping[str, Any]) -> dict[str, Any]:
    """The effective configuration in a header."""
    return section(header.get("config"), "config")


def _row(row: object, depth: int) -> Row:
    if not isinstance(row, list) or len(row) < len(Row._fields):
        raise Rejected(f"a row of a round is no list of {len(Row._fields)} values")
    cap = whole(row[5], "cap", 0, depth)
    accepted = whole(row[6], "accepted", 0, cap)
    return Row(
        label(row[0], "unnamed"),
        whole(row[1], "slot", -1),
        whole(row[2], "context", -1),
        whole(row[3], "generated", -1),
        whole(row[4], "window"),
        cap,
        accepted,
        whole(row[7], "emitted", 0, accepted + 1),
        whole(row[8], "state", RUNNING, STALE),
    )


def _seconds(value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != len(SECONDS):
        raise Rejected(f"seconds are no list of {len(SECONDS)} values")
    return tuple(_or_nan(item, name) for item, name in zip(value, SECONDS, strict=True))


def _or_nan(value: object, name: str) -> float:
    return math.nan if value is None else number(value, name)
