"""Fixtures every room's tests share."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from adaptive_depth.traces.header import Kind, TraceHeader
from adaptive_depth.traces.records import Block, DenseBlock, IntervalsBlock, RoundsBlock


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-vectors`` rewrites expected values; never in CI."""
    parser.addoption("--update-vectors", action="store_true", help="rewrite tests/vectors where a test can")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-vectors") and os.environ.get("CI"):
        raise pytest.UsageError("--update-vectors is forbidden in CI")


MakeTrace = Callable[..., tuple[TraceHeader, Block]]


@pytest.fixture(scope="session")
def foreign_data() -> Path:
    """Other people's recorded data, which the repository does not contain; the test is skipped without it."""
    root = (Path(__file__).parents[1] / ".." / "shared" / "data").resolve()
    if not root.is_dir():
        pytest.skip(f"no foreign data at {root}")
    return root


@pytest.fixture(scope="session")
def make_trace() -> MakeTrace:
    """``make_trace(kind, seed=0, requests=5, ...)``: a header and a legal random block that fits it."""
    return _make_trace


@pytest.fixture(scope="session")
def same_blocks() -> Callable[[Block, Block], None]:
    """Assert that two blocks hold the same values of the same types."""

    def check(got: Block, want: Block) -> None:
        assert type(got) is type(want)
        for field in dataclasses.fields(want):
            one, two = getattr(got, field.name), getattr(want, field.name)
            if isinstance(two, np.ndarray):
                assert one.dtype == two.dtype, field.name
                np.testing.assert_array_equal(one, two, err_msg=field.name)
            else:
                assert one == two, field.name

    return check


def _make_trace(
    kind: Kind,
    seed: int = 0,
    requests: int = 5,
    longest: int = 12,
    windows: tuple[int, ...] = (0, 512),
    k_max: int = 4,
    optional: bool = True,
) -> tuple[TraceHeader, Block]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, requests)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    text = tuple(
        tuple(f"{word}{rng.integers(9)} é" for _ in range(requests)) for word in ("id", "work", "stop")
    )
    header = TraceHeader(kind=kind, trace_set="made", origin="synthetic", k_max=k_max, windows=windows)
    make = {"dense": _dense, "rounds": _rounds, "intervals": _intervals}[kind]
    return header, make(rng, header, text, start, optional)


def _dense(rng, header, text, start, optional) -> DenseBlock:
    shape = (len(header.windows), int(start[-1]))
    probability = rng.random((*shape, header.k_max)).astype(np.float16)
    probability[rng.random(probability.shape) < 0.1] = np.nan
    return DenseBlock(
        *text,
        context=rng.integers(-1, 1 << 20, len(start) - 1),
        start=start,
        accepted=rng.integers(0, header.k_max + 1, shape).astype(np.int8),
        probability=probability if optional else None,
        looping=rng.random(shape[1]) < 0.5 if optional else None,
    )


def _rounds(rng, header, text, start, optional) -> RoundsBlock:
    count = int(start[-1])
    depth = rng.integers(-1, header.k_max + 1, count).astype(np.int32)
    accepted = rng.integers(0, np.where(depth < 0, header.k_max, depth) + 1).astype(np.int32)
    position = np.arange(count) - np.repeat(start[:-1], np.diff(start))
    return RoundsBlock(
        *text,
        context=rng.integers(-1, 1 << 20, len(start) - 1),
        output_tokens=np.diff(start),
        start=start,
        position=position.astype(np.int32),
        depth=depth,
        window=rng.choice(header.windows, count).astype(np.int32),
        accepted=accepted,
        emitted=rng.integers(0, accepted + 2).astype(np.int32),
        seconds=np.where(rng.random(count) < 0.5, rng.random(count), np.nan),
        batch=rng.choice([-1, 1, 64], count).astype(np.int32),
    )


def _intervals(rng, header, text, start, optional) -> IntervalsBlock:
    count = int(start[-1])

    def unknown_or(values):
        return np.where(rng.random(count) < 0.3, -1, values)

    def nan_or(values):
        return np.where(rng.random(count) < 0.3, np.nan, values)

    drafted = unknown_or(rng.integers(0, 500, count)).astype(np.int64)
    return IntervalsBlock(
        text[0],
        text[1],
        start=start,
        time_s=nan_or(np.arange(count) * 10.0),
        running=unknown_or(rng.integers(0, 64, count)).astype(np.int32),
        context=unknown_or(rng.integers(0, 1 << 24, count)).astype(np.int64),
        depth=unknown_or(rng.integers(0, header.k_max + 1, count)).astype(np.int32),
        accept_length=nan_or(1 + rng.random(count) * header.k_max),
        accepted=np.where(drafted < 0, -1, drafted // 2),
        drafted=drafted,
        tokens_per_second=nan_or(rng.random(count) * 1e3),
        per_position=np.sort(rng.random((count, header.k_max if count else 0)), axis=1)[:, ::-1].copy(),
    )
