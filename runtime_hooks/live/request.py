"""What the live view keeps of one running request."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from adaptive_depth.runtime_hooks.live.snapshot import RequestView
from adaptive_depth.traces.decisions import Row

#: Rounds of the sparkline, of the accept length and of the speed.
SHOWN = 32


@dataclass(slots=True)
class Request:
    """A request's last rounds, and its acceptance by position since it was first seen."""

    last_round: int = 0
    _last: Row | None = None
    _rounds: deque[tuple[int, int, int, float]] = field(default_factory=lambda: deque(maxlen=SHOWN))
    _reached: list[int] = field(default_factory=list)
    _held: list[int] = field(default_factory=list)

    def add(self, row: Row, number: int, seconds: float, steady: bool) -> None:
        """Take one round; ``seconds`` of an unsteady one do not count."""
        self._last, self.last_round = row, number
        self._rounds.append((row.accepted, row.cap, row.emitted, seconds if steady else math.nan))
        missing = row.cap - len(self._reached)
        self._reached += [0] * missing
        self._held += [0] * missing
        for position in range(min(row.accepted + 1, row.cap)):
            self._reached[position] += 1
            self._held[position] += position < row.accepted

    def view(self, name: str) -> RequestView:
        """The request as shown."""
        row = self._last
        assert row is not None  # made with its first round
        timed = [(emitted, seconds) for *_, emitted, seconds in self._rounds if math.isfinite(seconds)]
        spent = sum(seconds for _, seconds in timed)
        emitted = sum(emitted for _, _, emitted, _ in self._rounds)
        return RequestView(
            name=name,
            depth=row.cap,
            window=row.window,
            context=row.context + row.emitted,
            tokens=row.generated + row.emitted,
            tokens_per_second=sum(emitted for emitted, _ in timed) / spent if spent else math.nan,
            accept_length=emitted / len(self._rounds),
            accepted=tuple(accepted for accepted, *_ in self._rounds),
            depths=tuple(cap for _, cap, *_ in self._rounds),
            positions=tuple(
                held / reached if reached else math.nan
                for held, reached in zip(self._held, self._reached, strict=True)
            ),
        )
