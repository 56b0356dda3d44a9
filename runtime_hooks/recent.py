"""The last events of a run, kept for whoever asks the server: the live view over HTTP."""

from __future__ import annotations

import uuid
from collections import deque
from typing import Any

from adaptive_depth.runtime_hooks.events import Event, RoundEvent, StartEvent
from adaptive_depth.runtime_hooks.log_record import header, record

#: Rows of rounds that are kept: a second or two at any batch size, and no burden on a status request.
ROWS = 512
EVENTS = 128


class Recent:
    """A sink that holds the newest events; older ones are forgotten, however long the server runs.

    >>> Recent().state()["records"]
    []
    """

    def __init__(self, rows: int = ROWS, events: int = EVENTS) -> None:
        """Keep ``events`` events with ``rows`` request rows at most."""
        self._run = uuid.uuid4().hex[:8]
        self._start: StartEvent | None = None
        self._events: deque[Event] = deque()
        self._rows_limit, self._events_limit = rows, events
        self._rows = self._first = 0

    def put(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, StartEvent):
            self._start = event
            return
        self._events.append(event)
        self._rows += _rows(event)
        while len(self._events) > self._events_limit or (
            self._rows > self._rows_limit and len(self._events) > 1
        ):
            self._rows -= _rows(self._events.popleft())
            self._first += 1

    def state(self) -> dict[str, Any]:
        """The kept events as records of the decision log; ``first`` is the number of the oldest."""
        return {
            "run": self._run,
            "header": None if self._start is None else header(self._start, self._run, 0),
            "first": self._first,
            "records": [record(event) for event in self._events],
        }


def _rows(event: Event) -> int:
    return len(event.rows) if isinstance(event, RoundEvent) else 0
