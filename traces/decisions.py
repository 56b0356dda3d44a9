"""The records of a decision log: JSON Lines that a live server writes, one object a line.

A file is one part of a run and holds, in this order: a header (``log``, ``version``, ``run``, ``part``,
``config``, ``counts`` of the run so far), then records told apart by their first key (``round``, ``late``,
``forget``, ``control``, ``fault``), and a ``trailer`` with counts whenever the server went idle, at the
change of parts, and at the end. A file that does not end in one was cut off. Unknown keys pass: a release
may add some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LOG_NAME = "adaptive-depth-decisions"
#: A reader refuses a newer one.
LOG_VERSION = 1
#: ``row[8]``: what became of the request in this round.
RUNNING, FINISHED, STALE = 0, 1, 2
#: Order of ``seconds`` in a round: the whole, then its stages, then our own plan; null is unknown.
SECONDS = ("round", "draft", "verify", "extend", "plan")


class Row(NamedTuple):
    """One request of one round, in the order of the record's list."""

    rid: str
    slot: int
    #: Committed tokens and output tokens when the round was planned, as the controller was told.
    context: int
    generated: int
    #: 0 is full context.
    window: int
    #: Drafts that counted, accepted ones (no bonus), and tokens kept.
    cap: int
    accepted: int
    emitted: int
    #: :data:`RUNNING`, :data:`FINISHED` with this round, or :data:`STALE`: ended before the result came.
    state: int


@dataclass(frozen=True, slots=True)
class Round:
    """A round as it was planned and as it turned out; seconds are NaN where unknown."""

    plan_id: int
    time: float
    depth: int
    #: Depth of the round before, -1 at the first.
    before: int
    reason: str
    seconds: tuple[float, ...]
    #: The time the controller learned from; NaN where the round was no sample.
    sample: float
    marks: int
    #: Numbers of the controller's calls, for feeding a log to a fresh controller in order.
    planned: int
    observed: int
    rows: tuple[Row, ...]
