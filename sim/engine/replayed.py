"""What one policy did on one trace set."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(slots=True)
class Replayed:
    """Totals by request (``[R]``), counts over all rounds; ``seconds`` are a request's share of rounds."""

    tokens: npt.NDArray[np.int64]
    rounds: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    depth_sum: npt.NDArray[np.int64]
    #: Rows that ran at a depth, at a window.
    depth_histogram: dict[int, int] = field(default_factory=dict)
    window_histogram: dict[int, int] = field(default_factory=dict)
    #: Changes of a lane's depth from one round to the next, and the rounds of all lanes.
    switches: int = 0
    group_rounds: int = 0
    lanes: int = 0
    #: Rounds whose outcome the trace itself records; the others were modelled.
    known_rounds: int = 0
    #: (request, position, depth, window, accepted) of the requests watched, i64[5, rounds].
    path: npt.NDArray[np.int64] | None = None

    @classmethod
    def empty(cls, requests: int) -> Replayed:
        """Zeros for so many requests."""
        tokens, rounds, depth_sum = (np.zeros(requests, np.int64) for _ in range(3))
        return cls(tokens, rounds, np.zeros(requests), depth_sum)

    @property
    def tokens_per_second(self) -> float:
        """Tokens over seconds, all requests together; 0 where nothing ran."""
        total = float(self.seconds.sum())
        return float(self.tokens.sum()) / total if total else 0.0
