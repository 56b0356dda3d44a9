"""Exact replay of one fixed depth and window: the ladder every other policy is measured against.

Requests do not influence each other when a plan never changes and every request has its own rounds, so they
are walked some ten thousand at a time, without a controller in the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.types import CostModel, Load
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet

#: Rows walked together: enough to spread the cost of a call, few enough for a core's cache.
CACHED_ROWS = 24_576
#: Rows of ended requests walk on, unread, until they are too many: moving the others together costs more.
LIVELY = 0.75
NEVER = np.iinfo(np.int64).max


def replay_constant(trace: TraceSet, depth: int, window: int, cost: CostModel) -> Replayed:
    """Every request at ``depth`` drafts and ``window``; one request a round."""
    out = Replayed.empty(trace.requests)
    accepted = trace.accepted[trace.rows_of((window,))[0]].view(np.uint8)
    emitted = np.minimum(accepted, np.uint8(min(depth, 127))) + np.uint8(1)
    by_length = np.argsort(trace.output_tokens, kind="stable")
    for first in range(0, trace.requests, CACHED_ROWS):
        _walk(trace, emitted, by_length[first : first + CACHED_ROWS], depth, window, cost, out)
    total = int(out.rounds.sum())
    out.tokens = trace.output_tokens.copy()
    out.depth_sum = out.rounds * depth
    out.depth_histogram, out.window_histogram = {depth: total}, {window: total}
    out.group_rounds, out.lanes = total, trace.requests
    if trace.known is None:
        out.known_rounds = total
    return out


def _walk(
    trace: TraceSet,
    emitted: npt.NDArray[np.uint8],
    request: npt.NDArray[np.int64],
    depth: int,
    window: int,
    cost: CostModel,
    out: Replayed,
) -> None:
    request = request[trace.output_tokens[request] > 0]
    position, end = trace.start[request], trace.start[request + 1]
    to_context = (trace.context[request] - position).astype(np.float64)  # whole, and cheaper to reckon with
    seconds, rounds = np.zeros(len(request)), 0
    ladder, cap = np.array([depth]), window + trace.sink if window else 0
    running = len(request)
    while running:
        for _ in range(max(1, int((end - position).min()) // (depth + 1))):  # so long no request can end
            if trace.known is not None:
                out.known_rounds += int((trace.known[position] >= depth).sum())
            seconds += _price(cost, ladder, position + to_context, cap)
            position += emitted.take(position, mode="clip")
            rounds += 1
        done = np.flatnonzero(position >= end)
        out.rounds[request[done]], out.seconds[request[done]] = rounds, seconds[done]
        end[done] = NEVER
        running -= len(done)
        if running < LIVELY * len(request) or trace.known is not None:
            left = end < NEVER
            request, position, end = request[left], position[left], end[left]
            to_context, seconds = to_context[left], seconds[left]


def _price(
    cost: CostModel, ladder: npt.NDArray[Any], context: npt.NDArray[np.float64], cap: int
) -> npt.NDArray[np.float64]:
    reads = np.minimum(context, cap) if cap else context
    load = Load(np.ones(1, np.int64), context, reads if cost.extend_windowed else context, reads)
    return cost.seconds(load, ladder)[:, 0]
