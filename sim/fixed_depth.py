"""The rounds that one fixed depth plays on a dense trace, found without stepping through them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


def round_starts(accepted: npt.NDArray[np.int8], start: I64, depth: int) -> I64:
    """Flat positions at which a round starts when every round drafts ``depth``, ascending, i64[M].

    ``accepted[N]`` counts drafts without the bonus for one window; ``start[R+1]`` are the requests' offsets.
    A round at p commits ``min(accepted[p], depth) + 1`` positions, clipped to its request. Found by pointer
    doubling: after i passes the first 2^i rounds of every request are marked, so it costs O(N log rounds).

    >>> round_starts(np.array([2, 0, 0, 1, 0], np.int8), np.array([0, 5]), 1)
    array([0, 2, 3])
    """
    total = len(accepted)
    jump = _next_start(accepted, start, depth)
    marked = np.zeros(total + 1, np.bool_)
    marked[start[:-1]] = True
    marked[total] = True  # where finished requests wait
    while True:
        ahead = jump[marked]
        if marked[ahead].all():
            return np.flatnonzero(marked[:-1])
        marked[ahead] = True
        jump = jump[jump]


def emitted_tokens(starts: I64, start: I64) -> I64:
    """Tokens of each round of :func:`round_starts`: up to the next round or the request's end, i64[M]."""
    first = np.searchsorted(starts, start)
    ends = np.append(starts[1:], start[-1])
    last = first[1:][np.diff(first) > 0] - 1
    ends[last] = start[1:][np.diff(first) > 0]
    tokens: I64 = ends - starts
    return tokens


def _next_start(accepted: npt.NDArray[np.int8], start: I64, depth: int) -> I64:
    """For every position where its round's successor starts; the end of a request leads to N, i64[N+1]."""
    total = len(accepted)
    ends = np.repeat(start[1:], np.diff(start))
    target = np.arange(1, total + 1) + np.minimum(accepted, np.int64(depth))
    return np.append(np.where(target >= ends, total, target), total)
