"""Exact replay of one fixed depth and window: the ladder every other policy is measured against.

Requests do not influence each other when a plan never changes and every request has its own rounds, so they
are walked a cache full at a time, without a controller in the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.types import CostModel, Load
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet

#: Rows whose arrays fit a core's cache together.
CACHED_ROWS = 8192


def replay_constant(trace: TraceSet, depth: int, window: int, cost: CostModel) -> Replayed:
    """Every request at ``depth`` drafts and ``window``; one request a round."""
    out = Replayed.empty(trace.requests)
    accepted = trace.accepted[trace.rows_of((window,))[0]]
    by_length = np.argsort(trace.output_tokens, kind="stable")
    for first in range(0, trace.requests, CACHED_ROWS):
        _walk(trace, accepted, by_length[first : first + CACHED_ROWS], depth, window, cost, out)
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
    accepted: npt.NDArray[np.int8],
    request: npt.NDArray[np.int64],
    depth: int,
    window: int,
    cost: CostModel,
    out: Replayed,
) -> None:
    request = request[trace.output_tokens[request] > 0]
    position, end = trace.start[request], trace.start[request + 1]
    to_context = trace.context[request] - position
    seconds, rounds = np.zeros(len(request)), 0
    ladder, cap = np.array([depth]), window + trace.sink if window else 0
    most = np.int8(min(depth, 127))
    while len(request):
        if trace.known is not None:
            out.known_rounds += int((trace.known[position] >= depth).sum())
        seconds += _price(cost, ladder, position + to_context, cap)
        position = position + np.minimum(accepted.take(position), most)
        position += 1
        rounds += 1
        if (done := position >= end).any():
            out.rounds[request[done]], out.seconds[request[done]] = rounds, seconds[done]
            left = ~done
            request, position, end = request[left], position[left], end[left]
            to_context, seconds = to_context[left], seconds[left]


def _price(
    cost: CostModel, ladder: npt.NDArray[Any], context: npt.NDArray[np.int64], cap: int
) -> npt.NDArray[np.float64]:
    reads = np.minimum(context, cap) if cap else context
    load = Load(np.ones(1, np.int64), context, reads if cost.extend_windowed else context, reads)
    return cost.seconds(load, ladder)[:, 0]
