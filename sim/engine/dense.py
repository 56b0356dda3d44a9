"""Exact replay of a dense trace: lanes of requests in lockstep through one controller.

A lane is one simulated server; ``batch`` requests share its rounds and the next request in trace order is
admitted when one ends. Under greedy decoding the drafts accepted from output position p depend only on (p,
window), so the replay is exact for any policy: ``a = min(A_w[p], k)``, emit ``a + 1`` clipped to the output,
``p += a + 1``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.controller.depth_controller import DepthController, group_load
from adaptive_depth.policies.types import BatchView, CostModel, Plan, RoundResult
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

#: Requests a lane serves in turn, at least, unless told otherwise: a rule learns on one for the next.
REQUESTS_PER_LANE = 16
NOBODY = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """How to replay: requests a round, lanes (0: chosen), rounds between a verify and a plan that may use it.

    A lag of 0 equals 1 for counts: no count is known before its own verify.
    """

    batch: int = 1
    lanes: int = 0
    lag: int = 1

    def lanes_for(self, requests: int) -> int:
        """Lanes to use for so many requests."""
        most = max(1, -(-requests // self.batch))
        return min(most, self.lanes or max(1, requests // (REQUESTS_PER_LANE * self.batch)))


class _Seats:
    """The requests in flight, rows sorted by lane; arrays shrink as the queue runs dry."""

    NAMES = (
        "slot",
        "lane",
        "request",
        "position",
        "end",
        "context",
        "generated",
        "rounds",
        "seconds",
        "depth_sum",
    )

    def __init__(self, trace: TraceSet, lanes: int, batch: int, lag: int) -> None:
        self._trace, self._slots, self._turns = trace, lanes * batch, lag + 1
        self._queue = np.flatnonzero(trace.output_tokens > 0)
        count = min(lanes * batch, len(self._queue))
        self._next = count
        self.slot = np.arange(count, dtype=np.int32)
        self.lane = (np.arange(count) * lanes // max(count, 1)).astype(np.int32)
        self.request = self._queue[:count].copy()
        self.position, self.end = trace.start[self.request], trace.start[self.request + 1]
        self.context = trace.context[self.request]
        self.generated, self.rounds, self.depth_sum = (np.zeros(count, np.int64) for _ in range(3))
        self.seconds = np.zeros(count)

    def turn_over(self, done: npt.NDArray[np.bool_], into: Replayed) -> npt.NDArray[np.int32]:
        """Book the finished requests, admit the next ones into other slots; return the slots left.

        A slot rests until the feedback still under way for it is in, as in the server, where a request only
        ends when its last result is read.
        """
        rows = np.flatnonzero(done)
        gone = self.slot[rows]
        finished = self.request[rows]
        into.rounds[finished], into.seconds[finished] = self.rounds[rows], self.seconds[rows]
        into.depth_sum[finished], into.tokens[finished] = self.depth_sum[rows], self.generated[rows]
        admitted = self._queue[self._next : self._next + len(rows)]
        self._next += len(admitted)
        rows, empty = rows[: len(admitted)], rows[len(admitted) :]
        self.slot[rows] = (self.slot[rows] + self._slots) % (self._slots * self._turns)
        self.request[rows], self.context[rows] = admitted, self._trace.context[admitted]
        self.position[rows], self.end[rows] = self._trace.start[admitted], self._trace.start[admitted + 1]
        for counter in (self.generated, self.rounds, self.depth_sum, self.seconds):
            counter[rows] = 0
        if len(empty):
            keep = np.ones(len(self.slot), bool)
            keep[empty] = False
            for name in self.NAMES:
                setattr(self, name, getattr(self, name)[keep])
        return gone


def replay_dense(
    trace: TraceSet,
    controller: DepthController,
    cost: CostModel,
    options: ReplayOptions,
    *,
    watch: tuple[int, ...] = (),
    progress: Callable[[int], None] | None = None,
) -> Replayed:
    """Replay ``trace`` through ``controller`` at ``cost``; ``progress`` gets the tokens done."""
    return _Run(trace, controller, cost, options, watch).run(progress)


class _Run:
    def __init__(
        self,
        trace: TraceSet,
        controller: DepthController,
        cost: CostModel,
        options: ReplayOptions,
        watch: tuple[int, ...],
    ) -> None:
        self._trace, self._controller, self._cost = trace, controller, cost
        self._one_row = options.batch == 1
        self._lag = max(1, options.lag)
        candidates = controller.candidates
        self._depths, self._sink = candidates.depth_array, candidates.sink
        self._depth_index = np.full(128, -1, np.intp)
        self._depth_index[self._depths] = np.arange(len(self._depths))
        self._windows = candidates.windows
        self._recorded = trace.rows_of(candidates.windows)
        lanes = options.lanes_for(trace.requests)
        self._seats = _Seats(trace, lanes, options.batch, self._lag)
        self._waiting: deque[tuple[RoundResult, npt.NDArray[np.int32]]] = deque()
        self._last_depth = np.full(lanes, -1, np.int8)
        self._out = Replayed.empty(trace.requests)
        self._out.lanes = lanes
        self._depth_count = np.zeros(128, np.int64)
        self._window_count = np.zeros(len(self._windows), np.int64)
        self._watch = np.array(watch, np.int64)
        self._path: list[npt.NDArray[np.int64]] = []

    def run(self, progress: Callable[[int], None] | None) -> Replayed:
        while len(self._seats.slot):
            emitted = self._round()
            if progress is not None:
                progress(emitted)
        out = self._out
        out.depth_histogram = {int(k): int(self._depth_count[k]) for k in np.flatnonzero(self._depth_count)}
        out.window_histogram = {
            w: int(n) for w, n in zip(self._windows, self._window_count, strict=True) if n
        }
        out.path = np.concatenate(self._path, axis=1) if self._path else None
        return out

    def _round(self) -> int:
        seats = self._seats
        view = BatchView(seats.slot, seats.lane, seats.context, seats.generated, one_row_each=self._one_row)
        plan = self._controller.plan(view)
        depth = plan.row_depth(view)
        accepted = np.minimum(self._would_accept(plan), depth)
        seconds = self._seconds(view, plan)
        slots, lanes, contexts = seats.slot, seats.lane, seats.context
        self._count(view, plan, depth, accepted)
        emitted, gone = self._advance(view, depth, accepted, seconds)
        if self._controller.learns:
            windows, one_row = plan.window, self._one_row
            result = RoundResult(
                plan.plan_id, slots, lanes, contexts, depth, windows, accepted, seconds, one_row_each=one_row
            )
            self._waiting.append((result, gone))
            self._deliver()
        return emitted

    def _deliver(self) -> None:
        while len(self._waiting) >= self._lag:
            result, gone = self._waiting.popleft()
            self._controller.observe(result)
            self._controller.forget(gone)

    def _would_accept(self, plan: Plan) -> npt.NDArray[np.int8]:
        position = self._seats.position
        taken: npt.NDArray[np.int8] = self._trace.accepted[self._recorded[0]].take(position)
        for window, row in zip(self._windows[1:], self._recorded[1:], strict=True):
            at = np.flatnonzero(plan.window == window)
            taken[at] = self._trace.accepted[row].take(position[at])
        return taken

    def _seconds(self, view: BatchView, plan: Plan) -> F64:
        load = group_load(view, self._sink, plan.window, self._cost)
        depth = plan.depth
        if depth.min() == depth.max():
            return self._cost.seconds(load, depth[:1])[:, 0]
        every = self._cost.seconds(load, self._depths)
        chosen: F64 = np.take_along_axis(every, self._depth_index[depth][:, None], axis=1)[:, 0]
        return chosen

    def _count(
        self, view: BatchView, plan: Plan, depth: npt.NDArray[np.int8], accepted: npt.NDArray[np.int8]
    ) -> None:
        seats, out = self._seats, self._out
        self._depth_count += np.bincount(depth, minlength=128)
        if len(self._windows) == 1:
            self._window_count[0] += len(depth)
        else:
            for i, window in enumerate(self._windows):
                self._window_count[i] += int(np.count_nonzero(plan.window == window))
        known = self._trace.known
        out.known_rounds += len(depth) if known is None else int((known[seats.position] >= depth).sum())
        last = self._last_depth[view.groups]
        out.switches += int(np.count_nonzero((last != plan.depth) & (last >= 0)))
        out.group_rounds += len(plan.depth)
        self._last_depth[view.groups] = plan.depth
        if len(self._watch):
            at = np.flatnonzero(np.isin(seats.request, self._watch))
            columns = (seats.request, seats.generated, depth, plan.window, accepted)
            self._path.append(np.stack([column[at].astype(np.int64) for column in columns]))

    def _advance(
        self, view: BatchView, depth: npt.NDArray[np.int8], accepted: npt.NDArray[np.int8], seconds: F64
    ) -> tuple[int, npt.NDArray[np.int32]]:
        """Move on; return the tokens emitted and the slots whose request ended."""
        seats = self._seats
        emitted = np.minimum(accepted + np.int64(1), seats.end - seats.position)
        # New arrays for what the batch view holds: feedback still under way refers to the old ones.
        seats.context, seats.generated = seats.context + emitted, seats.generated + emitted
        seats.position += emitted
        seats.rounds += 1
        seats.depth_sum += depth
        seats.seconds += view.spread(seconds / view.rows_per_group)
        done = seats.position >= seats.end
        if not done.any():
            return int(emitted.sum()), NOBODY
        seats.slot, seats.lane = seats.slot.copy(), seats.lane.copy()
        return int(emitted.sum()), seats.turn_over(done, self._out)
