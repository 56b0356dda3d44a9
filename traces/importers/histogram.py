"""Acceptance histograms: how many rounds accepted 0, 1, 2, ... drafts. The order of the rounds is lost."""

from __future__ import annotations

import numpy as np

from adaptive_depth.traces.importers.base import Rejected
from adaptive_depth.traces.importers.fields import DEEPEST, ROUNDS_LIMIT, whole, wholes
from adaptive_depth.traces.records import I64


def dense_histogram(value: object, name: str) -> I64:
    """Rounds by accepted count, i64[K+1], from a list (index = count) or a sparse ``{count: rounds}``."""
    if isinstance(value, dict):
        return _from_sparse(value, name)
    counts = wholes(value, name)
    if np.flatnonzero(counts).max(initial=0) > DEEPEST:
        raise Rejected(f"{name} has a round of more than {DEEPEST} accepted drafts")
    return _bounded(counts, name)


def expand(histogram: I64) -> I64:
    """One accepted count a round, in ascending order, i64[rounds]."""
    return np.repeat(np.arange(len(histogram)), histogram)


def require_equal(value: object, name: str, expected: int, meaning: str) -> None:
    """An identity of the record: ``value`` (skipped where absent) must be ``expected``."""
    if value is not None and whole(value, name) != expected:
        raise Rejected(f"{name} is {value}, but {meaning} is {expected}")


def _from_sparse(value: dict[str, object], name: str) -> I64:
    counts = np.zeros(DEEPEST + 1, np.int64)
    for key, rounds in value.items():
        if not (key.isascii() and key.isdigit() and len(key) <= 3 and int(key) <= DEEPEST):
            raise Rejected(f"{name} has the key {key[:20]!r}, expected 0..{DEEPEST}")
        counts[int(key)] += whole(rounds, f"{name}[{key}]")
    return _bounded(counts, name)


def _bounded(counts: I64, name: str) -> I64:
    total = sum(counts.tolist())
    if not total:
        raise Rejected(f"{name} is empty: no rounds to import")
    if total > ROUNDS_LIMIT:
        raise Rejected(f"{name} holds {total:,} rounds; the limit of one request is {ROUNDS_LIMIT:,}")
    return counts
