"""Trace files: what is written is read back, in streams, and what cannot be used is named."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_depth.traces import writer as writer_module
from adaptive_depth.traces.blocks import empty_block
from adaptive_depth.traces.errors import TraceFormatError, UnsupportedTraceVersion
from adaptive_depth.traces.header import SCHEMA_VERSION, TraceHeader
from adaptive_depth.traces.records import DenseBlock
from adaptive_depth.traces.store import (
    TraceReader,
    TraceWriter,
    concat_blocks,
    find_traces,
    read_trace,
    select_requests,
    write_trace,
)

KINDS = ("dense", "rounds", "intervals")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "one.trace.parquet"


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    """A folder that hypothesis examples may share."""
    return tmp_path_factory.mktemp("scratch")


def rewrite(path, change=lambda table: table, header=None):
    """Write the file anew with plain pyarrow after ``change``, under another header text if given."""
    table = change(pq.read_table(path))
    if header is not None:
        table = table.replace_schema_metadata({b"adaptive_depth.header": header.encode()})
    pq.write_table(table, path)


def set_item(table, column, row, value):
    """The table with one cell replaced."""
    values = table.column(column).to_pylist()
    values[row] = value
    index = table.schema.get_field_index(column)
    return table.set_column(index, column, pa.array(values, table.schema.field(column).type))


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    windows=st.sampled_from([(0,), (512,), (4096, 0, 512)]),
    k_max=st.integers(0, 9),
    optional=st.booleans(),
    per_block=st.integers(1, 7),
)
def test_round_trip(make_trace, same_blocks, scratch, kind, seed, sizes, windows, k_max, optional, per_block):
    """Any legal trace of any kind comes back value for value, whatever the block sizes on either side."""
    made = [make_trace(kind, seed + i, n, 8, windows, k_max, optional) for i, n in enumerate(sizes)]
    header, blocks = made[0][0], [block for _, block in made]
    path = scratch / "round.trace.parquet"
    write_trace(path, header, blocks)
    reader = TraceReader(path)
    got = list(reader.blocks(per_block))
    assert reader.header == header
    assert reader.requests == sum(sizes)
    assert all(1 <= block.requests <= per_block for block in got)
    if sum(sizes):
        same_blocks(concat_blocks(got), select_requests(concat_blocks(blocks), np.arange(sum(sizes))))
        assert reader.problems == []


def test_blocks_stay_small_and_files_stream(make_trace, path, monkeypatch):
    """Writing and reading hold a few row groups in memory, not the file: 64 MB pass through under 24 MB."""
    monkeypatch.setattr(writer_module, "ROW_GROUP_BYTES", 1 << 20)
    count, positions = 64, 1 << 20
    header = TraceHeader(kind="dense", trace_set="big", origin="synthetic", k_max=7)

    def one(i):
        accepted = np.random.default_rng(i).integers(0, 8, (1, positions), np.int8)
        return DenseBlock((str(i),), ("w",), ("stop",), np.array([0]), np.array([0, positions]), accepted)

    arrow = total = 0
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    write_trace(path, header, map(one, range(count)))
    for block in TraceReader(path).blocks():
        arrow = max(arrow, pa.total_allocated_bytes() - before)
        total += block.accepted.size
    tracemalloc_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == count * positions
    assert arrow + tracemalloc_peak < 24 << 20


def test_a_wide_block_is_cut_into_row_groups(make_trace, same_blocks, path, monkeypatch):
    """One large block becomes many row groups and still reads back the same."""
    monkeypatch.setattr(writer_module, "ROW_GROUP_BYTES", 2000)
    header, block = make_trace("dense", requests=40, longest=50)
    write_trace(path, header, [block])
    assert pq.ParquetFile(path).num_row_groups > 5
    same_blocks(read_trace(path)[1], block)


def test_many_small_blocks_share_a_row_group(make_trace, path):
    """Requests written one by one do not become one row group each."""
    header, block = make_trace("rounds", requests=50)
    write_trace(path, header, (select_requests(block, [r]) for r in range(50)))
    assert pq.ParquetFile(path).num_row_groups == 1


@pytest.mark.parametrize("kind", KINDS)
def test_zero_requests_are_legal_but_reported(kind, path):
    """An empty trace reads as an empty block, and the reader says that it is empty."""
    header = TraceHeader(kind=kind, trace_set="none", origin="recorded")
    write_trace(path, header, [empty_block(header)])
    reader = TraceReader(path)
    assert list(reader.blocks()) == []
    assert [problem.reason for problem in reader.problems] == ["holds no requests"]
    assert read_trace(path)[1].requests == 0


def test_a_failed_write_leaves_nothing(make_trace, path):
    """If the body raises there is no new file, no temporary one, and the old file stays."""
    header, block = make_trace("dense")
    write_trace(path, header, [block])
    old = path.read_bytes()
    with pytest.raises(RuntimeError), TraceWriter(path, header) as writer:
        writer.write(block)
        raise RuntimeError("interrupted")
    assert path.read_bytes() == old
    assert list(path.parent.iterdir()) == [path]


def test_the_name_appears_only_at_the_end(make_trace, path):
    """Nobody can read a half-written file under its final name."""
    header, block = make_trace("dense")
    with TraceWriter(path, header) as writer:
        writer.write(block)
        assert list(path.parent.glob("*.trace.parquet")) == []
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("dense", {"accepted": np.full((2, 1), 5, np.int8)}, "request 'a': accepted is outside 0..4"),
        ("dense", {"accepted": np.zeros((1, 1), np.int8)}, "accepted has shape (1, 1), expected (2, 1)"),
        ("dense", {"start": np.array([1, 1])}, "start must begin at 0"),
        ("dense", {"request_id": ("a", "b")}, "differ in length"),
    ],
)
def test_the_writer_refuses_what_the_reader_would_drop(make_trace, path, kind, change, reason):
    """A block that could not be read back is refused, and the request is named."""
    header, _ = make_trace(kind)
    good = DenseBlock(("a",), ("w",), ("s",), np.array([9]), np.array([0, 1]), np.zeros((2, 1), np.int8))
    with pytest.raises(TraceFormatError) as caught, TraceWriter(path, header) as writer:
        writer.write(dataclasses.replace(good, **change))
    assert reason in str(caught.value)
    assert not path.exists()


def test_the_writer_refuses_another_kind_and_mixed_columns(make_trace, path):
    """A rounds block in a dense file, and confidence in only some blocks, are errors."""
    header, block = make_trace("dense")
    for other in (make_trace("rounds")[1], make_trace("dense", optional=False)[1]):
        with pytest.raises(TraceFormatError), TraceWriter(path, header) as writer:
            writer.write(block)
            writer.write(other)


def test_the_writer_refuses_a_wrong_name_and_a_place_it_cannot_write(make_trace, tmp_path):
    """The suffix is part of the format; an impossible folder is one clear error."""
    header, _ = make_trace("dense")
    with pytest.raises(TraceFormatError, match="must end in"):
        TraceWriter(tmp_path / "x.parquet", header)
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceFormatError, match="cannot be written"):
        write_trace(tmp_path / "file" / "x.trace.parquet", header, [])
    (tmp_path / "folder.trace.parquet").mkdir()
    with pytest.raises(TraceFormatError, match="cannot be written"):
        write_trace(tmp_path / "folder.trace.parquet", header, [])


BAD_ROWS = [
    ("dense", "accepted_512", lambda v: [*v[:-1], 99], "accepted is outside 0..4"),
    ("dense", "accepted_512", lambda v: [*v[:-1], -1], "accepted is outside 0..4"),
    ("dense", "accepted_512", lambda v: v[:-1], "accepted_512 and accepted_0 differ in length"),
    ("dense", "accepted_512", lambda v: [None, *v[1:]], "accepted_512 has missing values"),
    ("dense", "accepted_0", lambda v: None, "accepted_0 has missing values"),
    ("dense", "probability_0", lambda v: v[1:], "probability_0 has a wrong length"),
    ("dense", "probability_0", lambda v: [1.5, *v[1:]], "probability is outside 0..1"),
    ("dense", "looping", lambda v: [*v, True], "looping and accepted_0 differ in length"),
    ("dense", "context", lambda v: -2, "context is outside -1.."),
    ("dense", "context", lambda v: 1 << 62, "context is outside -1.."),
    ("dense", "workload", lambda v: None, "workload is missing"),
    ("rounds", "accepted", lambda v: [-1, *v[1:]], "accepted is outside 0..127"),
    ("rounds", "accepted", lambda v: [2**31 - 1, *v[1:]], "accepted is outside 0..127"),
    ("rounds", "depth", lambda v: [0] * len(v), "accepted is above the depth"),
    ("rounds", "depth", lambda v: [128, *v[1:]], "depth is outside -1..127"),
    ("rounds", "emitted", lambda v: [9, *v[1:]], "emitted is above accepted + 1"),
    ("rounds", "emitted", lambda v: [-1, *v[1:]], "emitted is negative"),
    ("rounds", "seconds", lambda v: [float("inf"), *v[1:]], "seconds is negative or infinite"),
    ("rounds", "seconds", lambda v: [-0.1, *v[1:]], "seconds is negative or infinite"),
    ("rounds", "position", lambda v: v[::-1], "positions do not ascend"),
    ("rounds", "position", lambda v: [-5, *v[1:]], "position is negative"),
    ("rounds", "batch", lambda v: [0, *v[1:]], "batch is neither"),
    ("rounds", "window", lambda v: [-1, *v[1:]], "window is negative"),
    ("rounds", "output_tokens", lambda v: -1, "output_tokens is outside 0.."),
    ("intervals", "accepted", lambda v: [10**6, *v[1:]], "accepted is above drafted"),
    ("intervals", "depth", lambda v: [500, *v[1:]], "depth is outside -1..127"),
    ("intervals", "time_s", lambda v: [float("-inf"), *v[1:]], "time_s is infinite"),
    ("intervals", "accept_length", lambda v: [-1.0, *v[1:]], "accept_length is negative or infinite"),
    ("intervals", "per_position", lambda v: [1.5, *v[1:]], "per_position is outside 0..1"),
    ("intervals", "per_position", lambda v: v[1:], "per_position has a wrong length"),
]


@pytest.mark.parametrize(("kind", "column", "change", "reason"), BAD_ROWS)
def test_a_bad_request_costs_only_itself(make_trace, same_blocks, path, kind, column, change, reason):
    """One impossible request is dropped and named with row, id and reason; its neighbours are untouched."""
    header, block = make_trace(kind, seed=13, requests=4, longest=9)
    assert np.diff(block.start).min() > 2
    if kind == "rounds":
        block.accepted[:] = np.maximum(block.accepted, np.where(block.depth != 0, 1, 0))
    if kind == "intervals":
        block.drafted[:], block.accepted[:] = 100, 50
    write_trace(path, header, [block])
    rewrite(path, lambda t: set_item(t, column, 2, change(t.column(column)[2].as_py())))
    reader = TraceReader(path)
    got = concat_blocks(list(reader.blocks(2)))
    same_blocks(got, select_requests(block, [0, 1, 3]))
    (problem,) = reader.problems
    assert (problem.row, problem.request_id) == (2, block.request_id[2])
    assert problem.reason.startswith(reason)
    assert str(problem).startswith(f"{path}: request {block.request_id[2]!r} (row 2): ")


def test_a_damaged_row_group_costs_only_itself(make_trace, same_blocks, path, monkeypatch):
    """A flipped byte inside one row group loses its requests, by number, and no others."""
    monkeypatch.setattr(writer_module, "ROW_GROUP_REQUESTS", 3)
    header, block = make_trace("dense", requests=9)
    write_trace(path, header, [block])
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(4)
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset + chunk.total_compressed_size - 3] ^= 0xFF
    path.write_bytes(data)
    reader = TraceReader(path)
    got = concat_blocks(list(reader.blocks()))
    same_blocks(got, select_requests(block, [0, 1, 2, 6, 7, 8]))
    (problem,) = reader.problems
    assert problem.row == -1 and problem.reason.startswith("rows 3..5 cannot be read: ")


def test_text_that_is_not_utf8_costs_its_batch(make_trace, path):
    """Another writer's broken text is named with its rows, and the other batches survive."""
    header, block = make_trace("dense", requests=6)
    write_trace(path, header, [block])
    text = pa.array([b"a", b"b", b"c", b"\xff", b"e", b"f"], pa.binary()).view(pa.string())
    rewrite(path, lambda t: t.set_column(0, "request_id", text))
    reader = TraceReader(path)
    (got,) = reader.blocks(3)
    assert got.request_id == ("a", "b", "c")
    assert [p.reason.split(":")[0] for p in reader.problems] == ["rows 3..5 cannot be read"]


def test_problems_are_not_counted_twice(make_trace, path):
    """Reading a file again starts the list of problems anew."""
    header, block = make_trace("dense", seed=13, requests=4)
    write_trace(path, header, [block])
    rewrite(path, lambda t: set_item(t, "context", 0, -9))
    reader = TraceReader(path)
    for _ in range(2):
        assert sum(b.requests for b in reader.blocks()) == 3
        assert len(reader.problems) == 1


def test_what_is_no_trace_is_refused_with_path_and_reason(make_trace, tmp_path):
    """Text, nothing, a torn file, a folder, a missing path, foreign Parquet: one error each."""
    header, block = make_trace("dense")
    good = tmp_path / "good.trace.parquet"
    write_trace(good, header, [block])
    cases = {"text": b"hello\n", "empty": b"", "torn": good.read_bytes()[:-20], "json": b'{"a": 1}' * 100}
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign")
    (tmp_path / "folder").mkdir()
    for name in (*cases, "foreign", "folder", "missing"):
        with pytest.raises(TraceFormatError) as caught:
            TraceReader(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema_name": "other"}, "schema is 'other', expected 'adaptive-depth-trace'"),
        ({"schema_version": "1"}, "schema_version is '1'"),
        ({"schema_version": True}, "schema_version is True"),
        ({"origin": "guessed"}, "header field 'origin'"),
        ({"windows": [0, 0]}, "windows must be distinct"),
        ({"windows": []}, "windows must be distinct"),
        ({"temperature": float("nan")}, "temperature must be finite"),
        ({"colour": "red"}, "header field 'colour'"),
        ({"windows": [0]}, "unexpected column 'accepted_512'"),
        ({"windows": [0, 512, 7]}, "column 'accepted_7' is missing"),
        ({"kind": "rounds"}, "column 'accepted' is missing"),
    ],
)
def test_a_wrong_header_is_refused(make_trace, path, change, reason):
    """The header is checked before any row, and the message names the field."""
    header, block = make_trace("dense")
    write_trace(path, header, [block])
    rewrite(path, header=json_text(header, change))
    with pytest.raises(TraceFormatError) as caught:
        TraceReader(path)
    assert reason in str(caught.value)


def json_text(header, change):
    import json

    return json.dumps(header.model_dump(mode="json") | change)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"schema_name": "\\ud800"}'])
def test_a_header_that_is_no_json_object_is_refused(make_trace, path, text):
    """Broken, nested without end, or of another shape: still one error of ours."""
    header, block = make_trace("dense")
    write_trace(path, header, [block])
    rewrite(path, header=text)
    with pytest.raises(TraceFormatError):
        TraceReader(path)


def test_a_newer_schema_is_refused_naming_both_versions(make_trace, path):
    """Nothing of a newer file is guessed at, not even its header fields."""
    header, block = make_trace("dense")
    write_trace(path, header, [block])
    rewrite(path, header=json_text(header, {"schema_version": 7, "new_field": 1}))
    with pytest.raises(UnsupportedTraceVersion, match=f"version 7; this reader knows up to {SCHEMA_VERSION}"):
        TraceReader(path)


def test_a_column_of_another_type_is_refused(make_trace, path):
    """int64 counts under an int8 name mean another writer; the message says both types."""
    header, block = make_trace("dense")
    write_trace(path, header, [block])
    rewrite(path, lambda t: t.set_column(3, "context", t.column("context").cast(pa.float64())))
    with pytest.raises(TraceFormatError, match="column 'context' is double, expected int64"):
        TraceReader(path)


def test_two_columns_of_one_name_are_refused(make_trace, path):
    """Which of the two would count is not guessed."""
    header, block = make_trace("dense")
    write_trace(path, header, [block])
    rewrite(path, lambda t: t.append_column("context", t.column("context")))
    with pytest.raises(TraceFormatError, match="two columns have the same name"):
        TraceReader(path)


def test_find_traces_sorts_searches_folders_and_ignores_the_rest(tmp_path):
    """Folders give their trace files by name; files given are taken as they are; repeats count once."""
    for name in ("b/2.trace.parquet", "b/1.trace.parquet", "a.trace.parquet", "b/notes.txt", "c/x.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    want = [tmp_path / name for name in ("a.trace.parquet", "b/1.trace.parquet", "b/2.trace.parquet")]
    assert find_traces([tmp_path]) == want
    assert find_traces([tmp_path / "c/x.parquet", tmp_path / "b", tmp_path / "b"])[1:] == want[1:]


@pytest.mark.parametrize("name", ["missing", "empty", "x" * 300])
def test_find_traces_says_when_there_is_nothing(tmp_path, name):
    """A missing path, a folder without traces and an impossible name are errors that name the path."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceFormatError) as caught:
        find_traces([tmp_path / name])
    assert str(tmp_path / name) in str(caught.value)
