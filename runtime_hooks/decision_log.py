"""The decision log: every event of the plugin as JSON Lines, written by a thread of its own.

``put`` only appends to a bounded queue, so the decode loop never waits for a disk; what does not fit is
dropped and counted. The writer sleeps between small portions and gives the interpreter's lock back after
every record: a thread that formats for milliseconds would stall the scheduler, which needs that lock for each
of its steps.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import uuid
from collections import deque
from pathlib import Path
from typing import Any

from adaptive_depth.runtime_hooks.events import Event, FaultEvent, RoundEvent, StartEvent
from adaptive_depth.runtime_hooks.json_bytes import to_json
from adaptive_depth.runtime_hooks.log_parts import LogParts
from adaptive_depth.runtime_hooks.log_record import header, record

logger = logging.getLogger(__name__)

#: Events that may wait for the disk: minutes of decoding.
QUEUE_LIMIT = 8192
#: Seconds between two looks at the queue: how old a line is at most when a watcher sees it.
PAUSE_S = 0.05
#: Seconds without an event after which a trailer is written: a server that is killed gets no other chance.
IDLE_S = 1.0
#: Seconds of rest after the disk refused.
RETRY_S = 5.0
#: Seconds of sleep after each record: whoever waits for the interpreter's lock wakes up and takes it. A sleep
#: of zero gives it away and takes it back before anybody woke, so the scheduler would wait for milliseconds.
YIELD_S = 50e-6
#: Records that are written in one go.
PORTION = 256


class DecisionLog:
    """A sink that writes a run's events into ``folder``, in parts of bounded size.

    A disk that is full or a folder that cannot be written costs records, never the server: they are counted,
    one warning is given, and writing is tried again every few seconds.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> log = DecisionLog(folder)
    >>> log.put(StartEvent(0.0, {}, {}, (0, 3), (0,), 0, 3, 0, False, False))
    >>> log.close()
    >>> log.status()["dropped"]
    0
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        queue_limit: int = QUEUE_LIMIT,
        part_bytes: int = 64 << 20,
        kept_parts: int = 32,
        retry_s: float = RETRY_S,
    ) -> None:
        """Start the writer; ``part_bytes`` is the size of a part, of which the newest ``kept_parts`` stay."""
        """Start the writer; ``part_bytes`` is the size of a part, of which the newest ``kept_parts`` stay."""
        self.run = uuid.uuid4().hex[:8]
        self.folder = Path(folder)
        self._parts = LogParts(
            self.folder, self.run, self._header, self._trailer, part_bytes=part_bytes, kept=kept_parts
        )
        self._start: StartEvent | None = None
        self._queue: deque[Event] = deque()
        self._limit, self._retry_s, self._retry_at = queue_limit, retry_s, 0.0
        self._overflow = self._unwritten = self._records = self._rounds = self._faults = 0
        self._last_error = ""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="adaptive-depth-log", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def put(self, event: Event) -> None:
        """Queue an event; a full queue drops it and counts."""
        if len(self._queue) < self._limit:
            self._queue.append(event)
        else:
            self._overflow += 1

    def close(self, patience_s: float = 2.0) -> None:
        """Write what waits and the last trailer; returns after ``patience_s`` at the latest."""
        self._closing.set()
        self._thread.join(patience_s)
        atexit.unregister(self.close)

    def status(self) -> dict[str, Any]:
        """Where it writes and what it lost, as plain JSON values."""
        return {
            "folder": str(self.folder),
            "run": self.run,
            "records": self._records,
            "dropped": self.dropped,
            "waiting": len(self._queue),
            "writer_alive": self._thread.is_alive(),
            "last_error": self._last_error,
        }

    @property
    def dropped(self) -> int:
        """Events that no file holds: the queue was full, or the disk refused them."""
        return self._overflow + self._unwritten

    def _run(self) -> None:
        """The writer's thread."""
        idle_since, closed = time.monotonic(), True
        while True:
            last = self._closing.wait(PAUSE_S)
            if self._queue:
                self._drain()
                idle_since, closed = time.monotonic(), False
            if not closed and (last or time.monotonic() - idle_since > IDLE_S):
                self._write(self._trailer(last), 0)
                closed = True
            if last:
                return

    def _drain(self) -> None:
        """Write the events that wait now."""
        lines: list[bytes] = []
        for _ in range(len(self._queue)):
            event = self._queue.popleft()
            if isinstance(event, StartEvent):
                self._start = event
                continue
            lines.append(self._line(event))
            time.sleep(YIELD_S)
            if len(lines) >= PORTION:
                self._write(b"".join(lines), len(lines))
                lines = []
        self._write(b"".join(lines), len(lines))

    def _line(self, event: Event) -> bytes:
        self._rounds += isinstance(event, RoundEvent)
        self._faults += isinstance(event, FaultEvent)
        return to_json(record(event)) + b"\n"

    def _write(self, lines: bytes, count: int) -> None:
        """Append ``count`` records; where the disk refuses they are dropped and writing rests for a while."""
        if not lines:
            return
        if self._start is None or time.monotonic() < self._retry_at:
            self._unwritten += count
            return
        try:
            self._parts.append(lines)
            self._records += count
        except OSError as error:
            self._unwritten += count
            self._retry_at = time.monotonic() + self._retry_s
            if not self._last_error:
                logger.warning("adaptive-depth: decision log %s: %s; records are dropped", self.folder, error)
            self._last_error = f"{type(error).__name__}: {error}"

    def _header(self, part: int) -> bytes:
        assert self._start is not None  # nothing is written before it came
        return to_json(header(self._start, self.run, part) | {"counts": self._counts()}) + b"\n"

    def _trailer(self, end: bool = False) -> bytes:
        return to_json({"trailer": self._counts(), "end": end, "time": round(time.time(), 3)}) + b"\n"

    def _counts(self) -> dict[str, int]:
        """Of the whole run so far, so that a reader of one part knows what came before."""
        return {
            "records": self._records,
            "dropped": self.dropped,
            "rounds": self._rounds,
            "faults": self._faults,
        }
