"""Rounds as a server would have recorded them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import RoundsBlock

PlayRounds = Callable[..., tuple[TraceHeader, RoundsBlock]]


@pytest.fixture(scope="session")
def play_rounds() -> PlayRounds:
    """``play_rounds(depths, requests=40, ordered=True)``: requests played at these depths in turn."""
    return _play_rounds


def _play_rounds(
    depths: Sequence[int], *, requests: int = 40, tokens: int = 120, ordered: bool = True, seed: int = 0
) -> tuple[TraceHeader, RoundsBlock]:
    rng = np.random.default_rng(seed)
    level = rng.uniform(0.5, 0.9, requests)
    columns: list[tuple[int, int, int, int]] = []
    start = [0]
    for accept in level:
        position, turn = 0, 0
        while position < tokens:
            depth = depths[turn % len(depths)]
            accepted = min(int(rng.geometric(1 - accept)) - 1, depth)
            emitted = min(accepted + 1, tokens - position)
            columns.append((position, depth, accepted, emitted))
            position, turn = position + emitted, turn + 1
        start.append(len(columns))
    position, depth, accepted, emitted = (np.array(c, np.int32) for c in zip(*columns, strict=True))
    text = tuple(f"r{index}" for index in range(requests))
    header = TraceHeader(
        kind="rounds", trace_set="played", origin="recorded", k_max=max(depths), windows=(0,), ordered=ordered
    )
    block = RoundsBlock(
        text,
        ("chat",) * requests,
        ("stop",) * requests,
        context=np.full(requests, 5_000, np.int64),
        output_tokens=np.full(requests, tokens, np.int64),
        start=np.array(start, np.int64),
        position=position,
        depth=depth,
        window=np.zeros(len(depth), np.int32),
        accepted=accepted,
        emitted=emitted,
        seconds=np.full(len(depth), np.nan),
        batch=np.ones(len(depth), np.int32),
    )
    return header, block
