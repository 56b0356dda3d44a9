"""Running sums over rounds, block by block: accept length, serial correlation, acceptance by position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

#: A request's own mean says little below this many rounds; shorter ones count only in pooled figures.
MIN_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class RoundStatistics:
    """Tokens per round over many requests; ``None`` where too few rounds exist or their order is unknown."""

    rounds: int
    tokens: int
    accept_length: float | None
    #: Lag-1 autocorrelation about one global mean: holds the differences between requests too.
    autocorrelation_pooled: float | None
    #: The same about each request's own mean, requests of 20 rounds or more: drift within a request.
    autocorrelation_within: float | None
    #: Percentiles of the accept length per request, requests of 20 rounds or more.
    request_mean_p10: float | None
    request_mean_p90: float | None
    long_requests: int


@dataclass(frozen=True, slots=True)
class PositionAcceptance:
    """Acceptance of the draft at one chain position (1 is the first draft)."""

    position: int
    #: Rounds that drafted this position with everything before it accepted.
    reached: int
    accepted: int
    #: Rounds cut by their depth right after this position: they say "at least".
    censored: int
    conditional: float | None
    #: Product of the conditional shares up to here (Kaplan-Meier), so that mixed depths do not bias it.
    marginal: float | None


class RoundTally:
    """Collect the tokens of rounds, request by request; a request may not be split between two calls."""

    def __init__(self, ordered: bool = True) -> None:
        """``ordered`` is False where the order of rounds is unknown: no correlation is given then."""
        self._ordered = ordered
        self._rounds = self._tokens = self._squares = 0
        self._pairs = self._pair_products = self._pair_sum = 0
        self._within = np.zeros(2)
        self._means: list[F64] = []

    def add(self, tokens: Ints, start: I64) -> None:
        """``tokens[M]`` of rounds in order, ``start[R+1]`` the first round of every request."""
        x = tokens.astype(np.int64)
        total, squares, count = segment_sums(x, start), segment_sums(x * x, start), np.diff(start)
        products, ends = _pair_products(x, start), _ends(x, start)
        self._rounds += len(x)
        self._tokens += int(total.sum())
        self._squares += int(squares.sum())
        self._pairs += int(np.maximum(count - 1, 0).sum())
        self._pair_products += int(products.sum())
        self._pair_sum += int((2 * total - ends).sum())
        long = count >= MIN_ROUNDS
        mean = total[long] / count[long]
        self._means.append(mean)
        over_pairs = products[long] - mean * (2 * total - ends)[long] + (count[long] - 1) * mean**2
        self._within += over_pairs.sum(), (squares[long] - count[long] * mean**2).sum()

    def result(self) -> RoundStatistics:
        """The figures so far."""
        means = np.concatenate([np.zeros(0), *self._means])
        p10, p90 = np.percentile(means, [10, 90]) if len(means) else (None, None)
        return RoundStatistics(
            rounds=self._rounds,
            tokens=self._tokens,
            accept_length=ratio(self._tokens, self._rounds),
            autocorrelation_pooled=self._pooled() if self._ordered else None,
            autocorrelation_within=ratio(*self._within) if self._ordered else None,
            request_mean_p10=None if p10 is None else float(p10),
            request_mean_p90=None if p90 is None else float(p90),
            long_requests=len(means),
        )

    def _pooled(self) -> float | None:
        if not self._pairs:
            return None
        mean = self._tokens / self._rounds
        variance = self._squares / self._rounds - mean**2
        covariance = (self._pair_products - mean * self._pair_sum) / self._pairs + mean**2
        return ratio(covariance, variance)


class AcceptanceTally:
    """Count rounds by accepted drafts and, where their depth is known, by (depth, accepted)."""

    def __init__(self) -> None:
        """Start empty."""
        self._counts = np.zeros((129, 129), np.int64)
        self._by_accepted = np.zeros(0, np.int64)

    def add(self, depth: Ints, accepted: Ints) -> None:
        """``depth[M]`` (-1 unknown: says nothing of any position) and ``accepted[M]`` of rounds."""
        grown = np.bincount(accepted, minlength=len(self._by_accepted))
        grown[: len(self._by_accepted)] += self._by_accepted
        self._by_accepted = grown
        known = depth >= 0
        cells = depth[known].astype(np.int64) * 129 + accepted[known]
        self._counts += np.bincount(cells, minlength=129 * 129).reshape(129, 129)

    def accepted_histogram(self) -> tuple[int, ...]:
        """Rounds by accepted drafts 0, 1, ... up to the most seen."""
        return tuple(self._by_accepted.tolist())

    def at_cap(self) -> float | None:
        """Share of drafting rounds whose whole chain was accepted."""
        return ratio(int(np.trace(self._counts[1:, 1:])), int(self._counts[1:].sum()))

    def result(self) -> tuple[PositionAcceptance, ...]:
        """Acceptance by position, up to the deepest position drafted; only positions reached count."""
        rows, marginal = [], 1.0
        deepest = int(np.max(np.flatnonzero(self._counts.sum(axis=1)), initial=0))
        for j in range(1, deepest + 1):
            reached = int(self._counts[j:, j - 1 :].sum())
            accepted = int(self._counts[j:, j:].sum())
            conditional = ratio(accepted, reached)
            known = conditional is not None
            marginal = marginal * conditional if conditional is not None else marginal
            row = (j, reached, accepted, int(self._counts[j, j]), conditional, marginal if known else None)
            rows.append(PositionAcceptance(*row))
        return tuple(rows)


def ratio(part: float, whole: float) -> float | None:
    """``part / whole``, or ``None`` where nothing was counted."""
    return float(part / whole) if whole > 0 else None


def segment_sums(values: Ints, start: I64) -> I64:
    """Sum of ``values[M]`` over each request's slice, i64[R]; empty slices give 0."""
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])
    picked: I64 = sums[start[1:]] - sums[start[:-1]]
    return picked


def _pair_products(x: I64, start: I64) -> I64:
    """Sum of x[t] * x[t+1] within each request, i64[R]."""
    products = np.zeros_like(x)
    products[:-1] = x[:-1] * x[1:]
    filled = np.diff(start) > 0
    products[start[1:][filled] - 1] = 0
    return segment_sums(products, start)


def _ends(x: I64, start: I64) -> I64:
    """First plus last round of each request, 0 for an empty one, i64[R]."""
    ends = np.zeros(len(start) - 1, np.int64)
    filled = np.diff(start) > 0
    ends[filled] = x[start[:-1][filled]] + x[start[1:][filled] - 1]
    return ends
