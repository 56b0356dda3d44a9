"""What the live view shows at one moment: frozen, with every number already worked out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: A number the source did not give.
UNKNOWN = float("nan")


class Link(StrEnum):
    """How the view stands with its source."""

    LIVE = "live"
    IDLE = "idle"  # the server is there, no request runs
    PAUSED = "paused"  # the watcher holds the picture; the server goes on
    STALE = "stale"  # requests run, but nothing new has come for a while
    ENDED = "ended"  # the server closed its log
    DISCONNECTED = "disconnected"  # the source cannot be read


@dataclass(frozen=True, slots=True)
class RequestView:
    """One running request.

    ``accepted`` and ``depths`` hold its last rounds, oldest first; ``positions[j]`` is the share of rounds
    that accepted draft j+1 among those that reached it, NaN where none did. ``window`` 0 is full context.
    """

    name: str
    depth: int
    window: int
    context: int
    tokens: int
    tokens_per_second: float
    accept_length: float
    accepted: tuple[int, ...]
    depths: tuple[int, ...]
    positions: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """A change of depth: at which round, from what to what, and why."""

    round: int
    before: int
    after: int
    reason: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole picture. Times in milliseconds unless named otherwise; NaN is unknown.

    ``speedup`` is tokens per second against depth 0 and ``speedup_basis`` says what depth 0 rests on:
    ``measured``, ``partly measured``, ``modelled``, or empty while unknown. ``notes`` are for the reader.
    """

    link: Link
    source: str
    age_s: float = 0.0
    model: str = "unknown"
    policy: str = "unknown"
    rounds: int = 0
    finished: int = 0
    depth: int = -1
    batch: int = 0
    accept_length: float = UNKNOWN
    tokens_per_second: float = UNKNOWN
    round_ms: float = UNKNOWN
    draft_ms: float = UNKNOWN
    verify_ms: float = UNKNOWN
    extend_ms: float = UNKNOWN
    plan_us: float = UNKNOWN
    speedup: float = UNKNOWN
    speedup_basis: str = ""
    switches_per_1000: float = UNKNOWN
    failures: int = 0
    dropped: int = 0
    disabled: bool = False
    forced: int | None = None
    depth_rounds: tuple[tuple[int, int], ...] = ()
    window_rows: tuple[tuple[int, int], ...] = ()
    decisions: tuple[Decision, ...] = ()
    requests: tuple[RequestView, ...] = ()
    notes: tuple[str, ...] = ()
