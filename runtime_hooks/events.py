"""What the running plugin tells its listeners: one event a round, one at the start, one a fault.

Events are plain values; a listener (:class:`Sink`) gets them on the scheduler's own thread, right after the
feedback of a round was taken, and must neither block nor raise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, NamedTuple, Protocol

NAN = math.nan


class Mark(IntFlag):
    """Why the seconds of a round are no sample of a steady decode round; 0 where they are."""

    NONE = 0
    PREFILL = 1  # a prefill ran between this round and the one before
    STALL = 2  # the server was idle, or a round was lost, in between
    FIRST_GRAPH = 4  # the first round at this depth, or at this depth and batch size: warm-up


class RowEvent(NamedTuple):
    """One request of one round."""

    rid: str
    #: Where the controller keeps the request's state; re-used by another request after a ``ForgetEvent``.
    slot: int
    #: Committed tokens when the round was planned, as the controller was told.
    context: int
    #: Output tokens when the round was planned, as the controller was told.
    generated: int
    #: Window the draft attended, 0 = full context.
    window: int
    #: Drafts that counted for this request, at most the round's depth.
    cap: int
    #: Drafts that verification accepted, without the bonus token.
    accepted: int
    #: Tokens the request kept: accepted + 1, less what a stop or a grammar cut; 0 where stale.
    emitted: int
    #: The request ended with this round.
    finished: bool
    #: The request had ended or been retracted before the result came (overlap): nothing was learned from it.
    stale: bool


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """Where a round's time went; NaN where it was not measured.

    ``round`` runs from the previous result to this one (its pace); without a steady predecessor from launch
    to result. The stages are wall time on a CPU, GPU time between events on CUDA.
    """

    draft: float = NAN
    verify: float = NAN
    extend: float = NAN
    round: float = NAN
    #: Host time of our own plan, observe and tier switch, part of ``round``.
    plan: float = NAN


@dataclass(frozen=True, slots=True)
class RoundEvent:
    """A round as planned and as it turned out.

    ``planned`` and ``observed`` number the calls of the controller (plans, observations, forgettings) in the
    order they were made, so that a log of events can be fed to a fresh controller in that order. Its result
    had the rows that are not stale; where all are, it got none.
    """

    plan_id: int
    #: Unix time of the result.
    time: float
    depth: int
    #: ``Reason`` of the plan, its name in lower case: hold, deepen, exit, forced, fallback, ...
    reason: str
    #: Depth of the round before, -1 at the first.
    previous_depth: int
    rows: tuple[RowEvent, ...]
    seconds: StageSeconds
    marks: Mark
    planned: int
    observed: int
    #: What the controller was told the round took: the round's seconds, or NaN where they are no sample.
    sample: float = NAN

    @property
    def batch(self) -> int:
        """Requests that shared the round."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class LateStagesEvent:
    """Stages of an earlier round, some of which still ran on the device when its result was taken."""

    plan_id: int
    seconds: StageSeconds


@dataclass(frozen=True, slots=True)
class ForgetEvent:
    """Requests ended and their slots were given up: ``why`` is finished, aborted, retracted or lost."""

    time: float
    slots: tuple[int, ...]
    rids: tuple[str, ...]
    why: str
    #: Number of this call of the controller, see :class:`RoundEvent`.
    order: int


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """An operator forced a depth (``None``: released it) or turned adapting on or off."""

    time: float
    #: "force" or "enable".
    action: str
    value: int | bool | None
    order: int


@dataclass(frozen=True, slots=True)
class StartEvent:
    """The plugin is in place: what it runs with."""

    time: float
    #: The policy as a policy file would say it, every default filled in.
    policy: Mapping[str, Any]
    #: Versions of this package, sglang, torch, numpy and python.
    versions: Mapping[str, str]
    tiers: tuple[int, ...]
    windows: tuple[int, ...]
    sink: int
    start_depth: int
    start_window: int
    extend_window: bool
    online_cost: bool
    #: model path, served model name, draft model path, algorithm, draft and target attention backend, tensor
    #: parallel size and rank, overlap, page size, device.
    backend: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """Something of ours failed and the static plan was served instead."""

    time: float
    #: Which hook: plan, feedback, switch, window, timing, sink.
    where: str
    error: str
    #: Faults so far, and whether adapting is now off for good.
    count: int
    disabled: bool


Event = RoundEvent | LateStagesEvent | ForgetEvent | ControlEvent | StartEvent | FaultEvent


class Sink(Protocol):
    """A listener: the decision log, the metrics. Called on the scheduler's thread after every round."""

    def put(self, event: Event) -> None:
        """Take an event; returns at once and never raises (a sink that does is dropped and counted)."""
