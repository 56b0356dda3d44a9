"""The exact clairvoyant: the least time any schedule of depth and window could take, by dynamic programming.

V(p) = min over (k, w) of T(k, w, L + p) + V(p + min(A_w[p], k) + 1), V(N) = 0, request by request (one
a round).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.types import Candidates, CostModel, Load
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet

#: Requests solved together; bounds the table of values to a few megabytes.
REQUESTS_TOGETHER = 1024


def clairvoyant(trace: TraceSet, candidates: Candidates, cost: CostModel) -> Replayed:
    """The optimal schedule of every request over the candidates; exact for one request a round."""
    out = Replayed.empty(trace.requests)
    depth_count = np.zeros(candidates.k_max + 1, np.int64)
    window_count = np.zeros(len(candidates.windows), np.int64)
    by_length = np.argsort(trace.output_tokens, kind="stable")
    for first in range(0, trace.requests, REQUESTS_TOGETHER):
        request = by_length[first : first + REQUESTS_TOGETHER]
        choice, out.seconds[request] = _solve(trace, request, candidates, cost)
        _walk(trace, request, choice, candidates, out, depth_count, window_count)
    out.tokens = trace.output_tokens.copy()
    out.depth_histogram = {k: int(n) for k, n in enumerate(depth_count) if n}
    out.window_histogram = {w: int(n) for w, n in zip(candidates.windows, window_count, strict=True) if n}
    out.group_rounds, out.lanes = int(out.rounds.sum()), trace.requests
    return out


def _solve(
    trace: TraceSet, request: npt.NDArray[np.int64], candidates: Candidates, cost: CostModel
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.float64]]:
    """Best (window, depth) index at every position ``[requests, longest]``; the least seconds ``[requests]``.

    Rows are aligned at their ends: column c of ``value`` is V at c tokens before the end.
    """
    tokens, recorded = trace.output_tokens[request], trace.rows_of(candidates.windows)
    longest = int(tokens.max(initial=0))
    depths = candidates.depth_array.astype(np.int64)
    value = np.zeros((len(request), longest + 1))
    choice = np.zeros((len(request), longest), np.int16)
    row = np.arange(len(request))
    for left in range(1, longest + 1):
        live = row[tokens >= left]
        position = trace.start[request[live] + 1] - left
        accepted = np.stack([trace.accepted[w].take(position) for w in recorded], axis=1)
        seconds = _seconds(trace, request[live], tokens[live] - left, candidates, cost)
        emitted = np.minimum(np.minimum(accepted[..., None], depths) + 1, left)
        total = (seconds + value[live[:, None, None], left - emitted]).reshape(len(live), -1)
        best = total.argmin(axis=1)
        choice[live, left - 1] = best
        value[live, left] = total[np.arange(len(live)), best]
    return choice, value[row, tokens]


def _seconds(
    trace: TraceSet,
    request: npt.NDArray[np.int64],
    done: npt.NDArray[Any],
    candidates: Candidates,
    cost: CostModel,
) -> npt.NDArray[np.float64]:
    """Seconds of a round after ``done`` tokens, ``[requests, W, D]``."""
    context = trace.context[request] + done
    reads = candidates.reads(context)
    full = np.broadcast_to(context[:, None], reads.shape)
    load = Load(np.ones((1, 1), np.int64), full, reads if cost.extend_windowed else full, reads)
    return cost.seconds(load, candidates.depth_array)


def _walk(
    trace: TraceSet,
    request: npt.NDArray[np.int64],
    choice: npt.NDArray[np.int16],
    candidates: Candidates,
    out: Replayed,
    depth_count: npt.NDArray[np.int64],
    window_count: npt.NDArray[np.int64],
) -> None:
    recorded = np.array(trace.rows_of(candidates.windows))
    left, row = trace.output_tokens[request].copy(), np.arange(len(request))
    while len(row := row[left[row] > 0]):
        window, level = np.divmod(choice[row, left[row] - 1], len(candidates.depths))
        depth = candidates.depth_array[level].astype(np.int64)
        position = trace.start[request[row] + 1] - left[row]
        known = trace.known
        out.known_rounds += len(row) if known is None else int((known[position] >= depth).sum())
        left[row] -= np.minimum(trace.accepted[recorded[window], position], depth) + 1
        out.rounds[request[row]] += 1
        out.depth_sum[request[row]] += depth
        depth_count += np.bincount(depth, minlength=len(depth_count))
        window_count += np.bincount(window, minlength=len(window_count))
