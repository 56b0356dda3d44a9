"""Events as the plain records that the decision log writes and that ``/server_info`` shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from adaptive_depth.runtime_hooks.events import (
    ControlEvent,
    Event,
    FaultEvent,
    ForgetEvent,
    LateStagesEvent,
    RoundEvent,
    RowEvent,
    StageSeconds,
    StartEvent,
)
from adaptive_depth.runtime_hooks.runtime import plain
from adaptive_depth.traces.decisions import FINISHED, LOG_NAME, LOG_VERSION, RUNNING, STALE


def header(start: StartEvent, run: str, part: int) -> dict[str, Any]:
    """The first line of every part."""
    return {
        "log": LOG_NAME,
        "version": LOG_VERSION,
        "run": run,
        "part": part,
        "config": plain(asdict(start)),
    }


def record(event: Event) -> dict[str, Any]:
    """An event as one line of the log; NaN becomes null."""
    if isinstance(event, RoundEvent):
        return _round(event)
    if isinstance(event, LateStagesEvent):
        return {"late": event.plan_id, "seconds": _seconds(event.seconds)}
    if isinstance(event, ForgetEvent):
        return {
            "forget": event.slots,
            "rids": event.rids,
            "why": event.why,
            "order": event.order,
            "time": event.time,
        }
    if isinstance(event, ControlEvent):
        return {"control": event.action, "value": event.value, "order": event.order, "time": event.time}
    if isinstance(event, FaultEvent):
        what = {"fault": event.where, "error": event.error, "count": event.count}
        return what | {"disabled": event.disabled, "time": event.time}
    return {"start": plain(asdict(event))}


def _round(event: RoundEvent) -> dict[str, Any]:
    return {
        "round": event.plan_id,
        "time": round(event.time, 4),
        "depth": event.depth,
        "before": event.previous_depth,
        "why": event.reason,
        "seconds": _seconds(event.seconds),
        "sample": _known(event.sample),
        "marks": int(event.marks),
        "planned": event.planned,
        "observed": event.observed,
        "rows": [_row(row) for row in event.rows],
    }


def _row(row: RowEvent) -> tuple[str | int, ...]:
    state = STALE if row.stale else FINISHED if row.finished else RUNNING
    return (*row[:8], state)


def _seconds(seconds: StageSeconds) -> list[float | None]:
    """In the order of ``traces.decisions.SECONDS``, to a tenth of a microsecond."""
    values = (seconds.round, seconds.draft, seconds.verify, seconds.extend, seconds.plan)
    return [None if value != value else round(value, 7) for value in values]


def _known(value: float) -> float | None:
    return None if value != value else value
