"""Small dense traces for the replay engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from adaptive_depth.sim.engine.trace_set import TraceSet, from_block
from adaptive_depth.sim.import_folder import import_all
from adaptive_depth.traces.store import find_traces, read_trace

MakeSet = Callable[..., TraceSet]


@pytest.fixture(scope="session")
def trace_of() -> MakeSet:
    """``trace_of([[3, 0, 1], [2]])``: requests from their accepted counts, one list a window set."""
    return _trace_of


@pytest.fixture(scope="session")
def random_trace() -> MakeSet:
    """``random_trace(seed=0, requests=40, ...)``: independent counts, lengths from 0 to ``longest``."""
    return _random_trace


@pytest.fixture(scope="session")
def drifting_trace() -> MakeSet:
    """Requests of different acceptance, every one drifting; contexts on both sides of a band's edge."""
    return _drifting_trace


def _trace_of(
    counts: Sequence[Sequence[int]], *, windows: tuple[int, ...] = (0,), context: int = 1000, k_max: int = 8
) -> TraceSet:
    flat = np.array([count for request in counts for count in request], np.int8)
    start = np.concatenate([[0], np.cumsum([len(request) for request in counts])]).astype(np.int64)
    accepted = np.stack([np.maximum(flat - shallower, 0) for shallower in range(len(windows))])
    return TraceSet(
        "made", "synthetic", windows, 64, k_max, np.full(len(counts), context, np.int64), start, accepted
    )


def _random_trace(
    *,
    seed: int = 0,
    requests: int = 40,
    longest: int = 60,
    windows: tuple[int, ...] = (0,),
    k_max: int = 8,
    context: int = 1000,
) -> TraceSet:
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, requests))]).astype(np.int64)
    accepted = rng.integers(0, k_max + 1, (len(windows), start[-1])).astype(np.int8)
    contexts = context + rng.integers(0, 500, requests)
    return TraceSet("made", "synthetic", windows, 64, k_max, contexts, start, accepted)


def _drifting_trace(*, requests: int, seed: int, tokens: int = 300) -> TraceSet:
    rng = np.random.default_rng(seed)
    level = rng.normal(0.8, 0.7, (requests, 1)) + np.cumsum(rng.normal(0, 0.08, (requests, tokens)), axis=1)
    accept = 1 / (1 + np.exp(-level.ravel()))
    counts = np.logical_and.accumulate(rng.random((len(accept), 7)) < accept[:, None], axis=1).sum(axis=1)
    context = rng.integers(8_000, 8_192, requests)
    start = np.arange(requests + 1) * tokens
    return TraceSet("made", "synthetic", (0,), 0, 7, context, start, counts.astype(np.int8)[None])


@pytest.fixture(scope="session")
def public_dense(foreign_data, tmp_path_factory) -> dict[str, TraceSet]:
    """The public dense recordings as imported, by name."""
    out = tmp_path_factory.mktemp("dense")
    import_all([foreign_data / "dense"], out, lambda line: None)
    blocks = [read_trace(path) for path in find_traces([out])]
    return {header.trace_set: from_block(header, block) for header, block in blocks}
