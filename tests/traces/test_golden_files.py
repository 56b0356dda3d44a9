"""Files written by schema version 1 read the same for ever.

The files in ``tests/vectors/traces`` were written once, from the values below. They are never written again:
a new schema gets new files, and these keep proving that its upgrade works.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import DenseBlock, IntervalsBlock, RoundsBlock
from adaptive_depth.traces.store import TraceReader, concat_blocks

FOLDER = Path(__file__).parents[1] / "vectors" / "traces"
nan = float("nan")


def i32(*values):
    return np.array(values, np.int32)


def i64(*values):
    return np.array(values, np.int64)


def f64(*values):
    return np.array(values, np.float64)


DENSE = (
    TraceHeader(
        kind="dense",
        trace_set="golden-dense",
        origin="synthetic",
        k_max=3,
        windows=(0, 512),
        sink=4,
        model="m",
        drafter="d",
        engine="e",
        hardware="h",
        sampler="greedy",
        temperature=0.0,
        provenance="written by hand",
        licence="Apache-2.0",
        notes="two windows, one empty request",
    ),
    DenseBlock(
        request_id=("a", "b", "c"),
        workload=("code", "code", "chat"),
        stop_reason=("stop", "length", "unknown"),
        context=i64(1000, 2000, -1),
        start=i64(0, 3, 3, 5),
        accepted=np.array([[0, 3, 1, 2, 0], [0, 2, 1, 2, 1]], np.int8),
        probability=np.array([[[0.5, 0.25, nan]] * 3 + [[1, 0.75, 0.125]] * 2, [[0.5] * 3] * 5], np.float16),
        looping=np.array([False, False, True, False, False]),
    ),
)
ROUNDS = (
    TraceHeader(
        kind="rounds",
        trace_set="golden-rounds",
        origin="recorded",
        k_max=5,
        windows=(0, 1024),
        temperature=0.7,
    ),
    RoundsBlock(
        request_id=("r1", "r2"),
        workload=("qa", "qa"),
        stop_reason=("stop", "length"),
        context=i64(300000, -1),
        output_tokens=i64(8, 1),
        start=i64(0, 3, 4),
        position=i32(0, 3, 7, 0),
        depth=i32(3, 5, 5, -1),
        window=i32(0, 1024, 1024, 0),
        accepted=i32(2, 3, 5, 0),
        emitted=i32(3, 4, 1, 1),
        seconds=f64(0.02, 0.025, nan, 0.5),
        batch=i32(1, 2, -1, 64),
    ),
)
INTERVALS = (
    TraceHeader(kind="intervals", trace_set="golden-intervals", origin="imported", k_max=3),
    IntervalsBlock(
        request_id=("server.log", "server.log TP1"),
        workload=("unknown", "unknown"),
        start=i64(0, 2, 3),
        time_s=f64(0, 10, nan),
        running=i32(1, 3, -1),
        context=i64(5000, 9000, -1),
        depth=i32(3, 3, -1),
        accept_length=f64(2.5, nan, 1.0),
        accepted=i64(15, -1, 0),
        drafted=i64(30, -1, 0),
        tokens_per_second=f64(120.5, nan, 0),
        per_position=np.array([[0.75, 0.5, 0.25], [nan] * 3, [nan] * 3]),
    ),
)
DIGESTS = {
    "dense": "e0b357c19f290b20982a1971f739affabc77b21075ad3c31e27b7681832a2d79",
    "rounds": "ea169768c6ec7d737513f14170cad045fb287f6ed0b01cb8a4a8f5d30278c0e5",
    "intervals": "89c4d1801b7c4bb8bd0503fcb5facd87f25ec72c606f72414cb26a63a4d44fa5",
}


@pytest.mark.parametrize(("header", "block"), [DENSE, ROUNDS, INTERVALS], ids=DIGESTS)
def test_version_1_reads_exactly(header, block, same_blocks):
    """Header and every value of the version 1 files are what they were written from."""
    reader = TraceReader(FOLDER / f"v1_{header.kind}.trace.parquet")
    same_blocks(concat_blocks(list(reader.blocks())), block)
    assert reader.header == header
    assert reader.problems == []


@pytest.mark.parametrize("kind", DIGESTS)
def test_golden_files_are_never_rewritten(kind):
    """The bytes are those of the first day; whoever regenerates a file must change this test and say why."""
    data = (FOLDER / f"v1_{kind}.trace.parquet").read_bytes()
    assert hashlib.sha256(data).hexdigest() == DIGESTS[kind]
