"""The plugin's one object in a scheduler process: controller, listeners, counters, and how it stands."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from adaptive_depth.controller.depth_controller import DepthController
from adaptive_depth.runtime_hooks.boundary import attempt
from adaptive_depth.runtime_hooks.events import ControlEvent, Event, FaultEvent, RoundEvent, Sink, StartEvent
from adaptive_depth.runtime_hooks.foreign import Foreign

T = TypeVar("T")
U = TypeVar("U")
logger = logging.getLogger(__name__)

#: Faults of the hooks after which the plugin stays static.
MAX_FAULTS = 8


@dataclass
class Counts:
    """What happened since the start."""

    rounds: int = 0
    rows: int = 0
    #: Drafts verified, accepted, and tokens kept, over live rows.
    proposed: int = 0
    accepted: int = 0
    emitted: int = 0
    #: Rows whose request had ended before the result came.
    stale_rows: int = 0
    switches: int = 0
    #: Switches by the reason of the plan that made them.
    switches_by_reason: Counter[str] = field(default_factory=Counter)
    depths: Counter[int] = field(default_factory=Counter)
    windows: Counter[int] = field(default_factory=Counter)
    forgotten: int = 0
    faults: int = 0
    faults_by_place: Counter[str] = field(default_factory=Counter)
    #: Host seconds of plan, observe and switch.
    plan_seconds: float = 0.0
    sinks_dropped: int = 0

    def add(self, event: RoundEvent) -> None:
        """Count a round."""
        live = [row for row in event.rows if not row.stale]
        self.rounds += 1
        self.rows += len(live)
        self.stale_rows += len(event.rows) - len(live)
        self.proposed += sum(row.cap for row in live)
        self.accepted += sum(row.accepted for row in live)
        self.emitted += sum(row.emitted for row in live)
        self.depths[event.depth] += 1
        self.windows.update(row.window for row in live)
        if event.previous_depth not in (-1, event.depth):
            self.switches += 1
            self.switches_by_reason[event.reason] += 1
        if event.seconds.plan == event.seconds.plan:
            self.plan_seconds += event.seconds.plan


class AdaptiveRuntime:
    """What the hooks share; made once in every scheduler process, reached through :func:`current`.

    ``sinks`` may be appended to at any time from the scheduler's thread; a new one is told the start at once
    through :meth:`add_sink`.
    """

    def __init__(self, controller: DepthController, start: StartEvent, max_faults: int = MAX_FAULTS) -> None:
        """Serve ``controller``; after ``max_faults`` faults of the hooks the static depth stays."""
        self.controller, self.start = controller, start
        self.sinks: list[Sink] = []
        self.counts = Counts()
        #: True after the first decode round went through every hook.
        self.active = False
        self.last_error = ""
        self.last_round: RoundEvent | None = None
        self._max_faults = max_faults
        self._recent_faults = 0
        self._order = 0

    @property
    def tripped(self) -> bool:
        """Too many faults of the hooks: they keep out of the way until an operator turns them on again."""
        return self._recent_faults >= self._max_faults

    @property
    def disabled(self) -> bool:
        """Adapting is off: too many faults, or an operator said so."""
        return self.tripped or self.controller.snapshot().disabled

    def next_order(self) -> int:
        """Number of the controller call about to be made."""
        self._order += 1
        return self._order - 1

    def add_sink(self, sink: Sink) -> None:
        """Add a listener and tell it the start."""
        self.sinks.append(sink)
        self._put(sink, self.start)

    def emit(self, event: Event) -> None:
        """Give an event to every listener; one that raises is dropped, counted and named in the log."""
        if isinstance(event, RoundEvent):
            self.counts.add(event)
            self.last_round = event
        for sink in tuple(self.sinks):
            self._put(sink, event)

    def force(self, depth: int | None) -> None:
        """Pin the depth to a tier or release it; ValueError for no tier."""
        self.controller.force(depth)
        self.emit(ControlEvent(time.time(), "force", depth, self.next_order()))

    def enable(self, on: bool) -> None:
        """Turn adapting off (the static plan is served) or on again, which clears past faults."""
        self.controller.enable(on)
        if on:
            self._recent_faults = 0
        self.emit(ControlEvent(time.time(), "enable", on, self.next_order()))

    def fault(self, where: str, error: BaseException) -> None:
        """Count a fault of ours, tell the listeners, and name the first of each kind in the server's log."""
        self.counts.faults += 1
        self._recent_faults += 1
        self.counts.faults_by_place[where] += 1
        self.last_error = f"{where}: {type(error).__name__}: {error}"
        if self.counts.faults_by_place[where] == 1:
            logger.error("adaptive-depth: %s failed, serving the static depth", where, exc_info=error)
        if self._recent_faults == self._max_faults:
            logger.error("adaptive-depth: %d faults, staying at the static depth", self._max_faults)
        self.emit(FaultEvent(time.time(), where, self.last_error, self.counts.faults, self.disabled))

    def stop(self, where: str, error: BaseException) -> None:
        """A fault after which adapting is off at once, until an operator turns it on again."""
        self._recent_faults = self._max_faults - 1
        self.fault(where, error)

    def status(self) -> dict[str, Any]:
        """How it stands, as plain JSON values: for ``/server_info``, the log and the tests."""
        return {
            "active": self.active,
            "disabled": self.disabled,
            "last_error": self.last_error,
            "counts": plain(vars(self.counts)),  # asdict miscounts a Counter before Python 3.12
            "controller": asdict(self.controller.snapshot()),
            "config": plain(asdict(self.start)),
            "last_depth": None if self.last_round is None else self.last_round.depth,
        }

    def attempt(self, where: str, step: Callable[[], T], otherwise: U) -> T | U:
        """``step()``, or ``otherwise`` after any exception, which counts as a fault."""
        return attempt(where, step, otherwise, self.fault)

    def _put(self, sink: Sink, event: Event) -> None:
        def drop(_where: str, error: BaseException) -> None:
            self.sinks = [other for other in self.sinks if other is not sink]
            self.counts.sinks_dropped += 1
            name = type(sink).__name__
            logger.error("adaptive-depth: listener %s failed and is dropped", name, exc_info=error)

        attempt("sink", lambda: sink.put(event), None, drop)


_CURRENT: AdaptiveRuntime | None = None
_LISTENERS: list[Callable[[AdaptiveRuntime], None]] = []


def current() -> AdaptiveRuntime | None:
    """The runtime of this process; ``None`` without ``--adaptive-depth`` or before the worker is built."""
    return _CURRENT


def on_install(listener: Callable[[AdaptiveRuntime], None]) -> None:
    """Call ``listener`` with the runtime as soon as there is one, to add a sink or the like."""
    _LISTENERS.append(listener)


def install(runtime: AdaptiveRuntime) -> None:
    """Make this the runtime of the process and tell who asked for it."""
    global _CURRENT
    _CURRENT = runtime
    for listener in _LISTENERS:
        listener(runtime)


def plain(value: Foreign) -> Foreign:
    """``value`` with string keys and lists, as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
