"""The in-memory form of traces: blocks of requests as struct-of-arrays.

A *block* holds a few hundred requests of one kind. ``start`` has R+1 offsets, so request ``r`` owns the
slice ``start[r]:start[r + 1]`` of every flat array. All counts exclude the bonus token. Three kinds:

* :class:`DenseBlock` — for each recorded window, how many drafts of a chain started at EVERY output position
  would be accepted. Replays any policy exactly (greedy decoding).
* :class:`RoundsBlock` — rounds as they happened, at the depths that were played.
* :class:`IntervalsBlock` — averages over log intervals (SGLang decode lines, vLLM metric windows).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F16 = npt.NDArray[np.float16]
F64 = npt.NDArray[np.float64]

#: An integer field whose value the source did not give.
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class DenseBlock:
    """Counterfactual acceptance at every output position.

    ``accepted[w, start[r] + p]`` is the number of drafts (0..K_max, no bonus) that the target would accept
    from output position ``p`` of request ``r`` when the draft attends ``header.windows[w]``. ``probability``
    is the draft's own top-1 probability per chain step ``[W, N, K_max]`` (NaN where unknown), or ``None``.
    ``looping[N]`` flags positions inside a repetition loop, or is ``None``.
    """

    request_id: tuple[str, ...]
    workload: tuple[str, ...]
    stop_reason: tuple[str, ...]
    context: I64  # [R] prompt (context) tokens before the first output token
    start: I64  # [R+1]
    accepted: I8  # [W, N]
    probability: F16 | None = None  # [W, N, K_max]
    looping: npt.NDArray[np.bool_] | None = None  # [N]

    @property
    def requests(self) -> int:
        """Number of requests R."""
        return len(self.request_id)

    @property
    def output_tokens(self) -> I64:
        """Output tokens N of each request, i64[R]."""
        return np.diff(self.start)


@dataclass(frozen=True, slots=True)
class RoundsBlock:
    """Rounds as they were played.

    ``position`` is the number of output tokens before the round, ``depth`` the drafted chain (-1 unknown),
    ``accepted`` the verified drafts without bonus, ``emitted`` the tokens committed (accepted + 1 less what a
    stop cut), ``seconds`` the round's wall time (NaN unknown), ``batch`` the requests that shared it (-1
    unknown).
    """

    request_id: tuple[str, ...]
    workload: tuple[str, ...]
    stop_reason: tuple[str, ...]
    context: I64  # [R], -1 unknown
    output_tokens: I64  # [R]
    start: I64  # [R+1]
    position: I32  # [M]
    depth: I32  # [M], -1 unknown
    window: I32  # [M], 0 = full context
    accepted: I32  # [M]
    emitted: I32  # [M]
    seconds: F64  # [M], NaN unknown
    batch: I32  # [M], -1 unknown

    @property
    def requests(self) -> int:
        """Number of requests R."""
        return len(self.request_id)


@dataclass(frozen=True, slots=True)
class IntervalsBlock:
    """Averages over log intervals; a "request" here is one log stream (a file, or one rank in it).

    ``accept_length`` includes the bonus, as logged. ``per_position`` is the marginal acceptance by draft
    position where the log has it, NaN-padded to the widest row.
    """

    request_id: tuple[str, ...]  # stream names
    workload: tuple[str, ...]
    start: I64  # [R+1]
    time_s: F64  # [M] seconds since the stream's first line, NaN unknown
    running: I32  # [M] running requests, -1 unknown
    context: I64  # [M] context tokens in use over all running requests, -1 unknown
    depth: I32  # [M] -1 unknown
    accept_length: F64  # [M] NaN where the line has none (no speculation)
    accepted: I64  # [M] drafts accepted in the interval, -1 unknown
    drafted: I64  # [M] drafts proposed in the interval, -1 unknown
    tokens_per_second: F64  # [M] NaN unknown
    per_position: F64  # [M, K] NaN unknown

    @property
    def requests(self) -> int:
        """Number of streams."""
        return len(self.request_id)


Block = DenseBlock | RoundsBlock | IntervalsBlock
