"""Older schemas are lifted by pure steps; a missing step is said, not skipped."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptive_depth.traces.errors import UnsupportedTraceVersion
from adaptive_depth.traces.store import TraceReader, concat_blocks, write_trace
from adaptive_depth.traces.upgrade import UPGRADES, Upgrade


def header_0_to_1(raw):
    """Version 0 (made up for this test) called the trace set ``name``."""
    return {k: v for k, v in raw.items() if k != "name"} | {"trace_set": raw["name"], "schema_version": 1}


def rows_0_to_1(batch):
    """Version 0 had no workload column."""
    column = pa.array(["unknown"] * batch.num_rows, pa.string())
    return pa.RecordBatch.from_arrays([*batch.columns, column], names=[*batch.schema.names, "workload"])


@pytest.fixture
def old_file(make_trace, tmp_path):
    """A file of made-up version 0, and the block it was made from."""
    header, block = make_trace("rounds")
    path = tmp_path / "old.trace.parquet"
    write_trace(path, header, [block])
    raw = header.model_dump(mode="json")
    raw = raw | {"schema_version": 0, "name": raw.pop("trace_set")}
    table = pq.read_table(path).drop_columns(["workload"])
    pq.write_table(table.replace_schema_metadata({b"adaptive_depth.header": json.dumps(raw).encode()}), path)
    return path, header, block


def test_an_older_file_is_upgraded(old_file, monkeypatch):
    """With a registered step the old file reads as if written today."""
    path, header, block = old_file
    monkeypatch.setitem(UPGRADES, 0, Upgrade(header_0_to_1, rows_0_to_1))
    reader = TraceReader(path)
    got = concat_blocks(list(reader.blocks()))
    assert reader.header == header
    assert got.accepted.tolist() == block.accepted.tolist()
    assert set(got.workload) == {"unknown"}
    assert reader.problems == []


def test_a_missing_step_is_refused(old_file):
    """Without the step the file is refused, naming both versions."""
    with pytest.raises(UnsupportedTraceVersion, match="version 0 cannot be upgraded to 1"):
        TraceReader(old_file[0])
