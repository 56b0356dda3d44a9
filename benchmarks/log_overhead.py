"""What listening costs the decode loop: queueing events, counting for answers, and the log thread beside it.

The loop stands for a scheduler's: a wait that gives the interpreter's lock away, as a kernel launch or a
socket does, again and again. What the log thread costs a step is how late the loop gets that lock back; on a
machine without a free core that is mostly the kernel's doing, with the log or without.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from adaptive_depth.controller.build import build_controller
from adaptive_depth.runtime_hooks.decision_log import DecisionLog
from adaptive_depth.runtime_hooks.events import Mark, RoundEvent, RowEvent, StageSeconds, StartEvent
from adaptive_depth.runtime_hooks.recent import Recent
from adaptive_depth.runtime_hooks.request_info import RequestInfo
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.worker import ATTACHED

START = StartEvent(0.0, {"policy": "static"}, {}, (0, 3), (0,), 0, 3, 0, False, False)
STEPS, STEP_S = 2000, 0.002


def event(batch: int, number: int) -> RoundEvent:
    rows = tuple(RowEvent("f" * 32, slot, 100_000, 500, 512, 3, 2, 3, False, False) for slot in range(batch))
    stages = StageSeconds(0.004, 0.012, 0.003, 0.02, 0.0001)
    return RoundEvent(number, 1e9, 3, "hold", 3, rows, stages, Mark.NONE, 2 * number, 2 * number + 1, 0.02)


def microseconds(step: Callable[[int], object]) -> str:
    spent = []
    for number in range(STEPS):
        start = time.perf_counter()
        step(number)
        spent.append(time.perf_counter() - start)
        time.sleep(0.0002)
    return "median {:5.1f} µs, p99 {:6.1f} µs".format(*np.percentile(spent, (50, 99)) * 1e6)


def step_times(log: DecisionLog | None, batch: int) -> np.ndarray:
    """Lateness of every step of the loop, with or without a log that is fed at each."""
    late = []
    for number in range(STEPS):
        start = time.perf_counter()
        time.sleep(STEP_S)
        late.append(time.perf_counter() - start - STEP_S)
        if log is not None:
            log.put(event(batch, number))
    return np.array(late)


def counted(batch: int) -> Callable[[int], object]:
    info = RequestInfo(AdaptiveRuntime(build_controller("static:3"), START))
    reqs = [
        SimpleNamespace(finished=lambda: False, is_retracted=False, customized_info=None)
        for _ in range(batch)
    ]
    result = SimpleNamespace(speculative_num_draft_tokens=4, num_correct_drafts_per_req_cpu=[2] * batch)
    setattr(result, ATTACHED, True)
    running = SimpleNamespace(reqs=reqs)
    return lambda number: info.count(lambda *_: None, None, result, running)


def main() -> None:
    folder = tempfile.mkdtemp()
    for batch in (1, 8, 64):
        log, recent = DecisionLog(folder), Recent()
        log.put(START)
        made = event(batch, 0)
        print(f"batch {batch}")
        print(f"  put to the log        {microseconds(lambda number, e=made, sink=log: sink.put(e))}")
        print(f"  keep for the view     {microseconds(lambda number, e=made, sink=recent: sink.put(e))}")
        print(f"  count for the answers {microseconds(counted(batch))}")
        for name, used in (("without", None), ("with", log)):
            late = np.percentile(step_times(used, batch), (50, 99)) * 1e6
            print(f"  step late {name:<7} log median {late[0]:5.0f} µs, p99 {late[1]:5.0f} µs")
        log.close()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
