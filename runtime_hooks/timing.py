"""Times a round and its stages without ever waiting for the device."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Protocol

from adaptive_depth.runtime_hooks.events import NAN, Mark
from adaptive_depth.runtime_hooks.foreign import Foreign

#: Stages in the order they run.
STAGES = ("draft", "verify", "extend")
#: A gap before a launch this many rounds long, and at least this long, is no part of a steady pace.
STALL_ROUNDS, STALL_SECONDS = 4.0, 0.05


class StageClock(Protocol):
    """Times the stages of one round."""

    def run(self, stage: str, step: Callable[[], Any]) -> Foreign:
        """Run ``step`` and time it."""

    def seconds(self) -> dict[str, float]:
        """Seconds of each stage that has ended by now; never waits."""

    @property
    def complete(self) -> bool:
        """Every stage that was begun has ended."""


class HostStages:
    """Stages on a CPU, where the work is done when the call returns."""

    def __init__(self) -> None:
        """No stage has run."""
        self._seconds: dict[str, float] = {}

    def run(self, stage: str, step: Callable[[], Any]) -> Foreign:
        """Run ``step`` between two readings of the clock."""
        start = time.perf_counter()
        result = step()
        self._seconds[stage] = time.perf_counter() - start
        return result

    def seconds(self) -> dict[str, float]:
        """All stages that ran."""
        return self._seconds

    @property
    def complete(self) -> bool:
        """Always: a call that has returned has ended."""
        return True


class CudaStages:
    """Stages on a GPU: a pair of CUDA events each, read late and only if the second one has passed.

    At the time a round's result is taken, draft and verify lie behind its copy and have ended; draft-extend
    may still run, and is known a round later.
    """

    def __init__(self) -> None:
        """No stage has run."""
        self._pairs: dict[str, tuple[Any, Any]] = {}

    def run(self, stage: str, step: Callable[[], Any]) -> Foreign:
        """Run ``step`` between two events on the current stream."""
        import torch

        pair = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        pair[0].record()
        result = step()
        pair[1].record()
        self._pairs[stage] = pair
        return result

    def seconds(self) -> dict[str, float]:
        """Stages whose second event has passed."""
        ended = {stage: pair for stage, pair in self._pairs.items() if pair[1].query()}
        return {stage: first.elapsed_time(last) / 1e3 for stage, (first, last) in ended.items()}

    @property
    def complete(self) -> bool:
        """The last event of every stage has passed."""
        return all(last.query() for _, last in self._pairs.values())


def stages_for(device: str) -> Callable[[], StageClock]:
    """The clock that suits the device; elsewhere the host's, which may see no more than launches."""
    return CudaStages if device.startswith("cuda") else HostStages


class Pace:
    """Seconds between the results of consecutive decode rounds: what a round really costs, host included.

    With overlap scheduling a result is awaited on the host, so this is the device's own pace. A round after a
    prefill, after a pause, or the first of its shape is marked: it says nothing about the next.

    >>> pace = Pace()
    >>> mark = pace.launched(10.0, depth=3, batch=1)
    >>> mark, pace.result(10.0, 10.5, mark)
    (<Mark.FIRST_GRAPH: 4>, 0.5)
    >>> mark = pace.launched(10.625, depth=3, batch=1)
    >>> mark, pace.result(10.625, 11.0, mark)
    (<Mark.NONE: 0>, 0.5)
    """

    def __init__(self) -> None:
        """No round has run."""
        self._prefill = False
        self._last_result = NAN
        self._last_round = NAN
        self._shapes: set[tuple[int, int]] = set()

    def prefill(self) -> None:
        """A prefill was launched."""
        self._prefill = True

    def launched(self, now: float, depth: int, batch: int) -> Mark:
        """A decode round is launched; how far its seconds will be trusted."""
        mark = Mark.PREFILL if self._prefill else Mark.NONE
        self._prefill = False
        if (depth, batch) not in self._shapes:
            self._shapes.add((depth, batch))
            mark |= Mark.FIRST_GRAPH
        if now - self._last_result > max(STALL_SECONDS, STALL_ROUNDS * self._last_round):
            mark |= Mark.STALL
        return mark

    def result(self, launched: float, now: float, mark: Mark) -> float:
        """A round's result is there; seconds since the last one, or since the launch if none was near."""
        alone = mark & (Mark.PREFILL | Mark.STALL) or math.isnan(self._last_result)
        since = launched if alone else self._last_result
        self._last_result, self._last_round = now, now - since
        return self._last_round
