"""Whatever bytes a trace file holds, only errors of ours leave the reader."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_depth.sim.inspect import inspect_blocks
from adaptive_depth.traces.errors import AdaptiveDepthError
from adaptive_depth.traces.store import TraceReader, write_trace


@pytest.fixture(scope="session")
def folder(make_trace, tmp_path_factory):
    """A folder to work in, with a valid file of each kind called 0, 1 and 2."""
    folder = tmp_path_factory.mktemp("fuzz")
    for i, kind in enumerate(("dense", "rounds", "intervals")):
        header, block = make_trace(kind)
        write_trace(folder / "good.trace.parquet", header, [block])
        (folder / "good.trace.parquet").rename(folder / str(i))
    return folder


def read_all(folder, data):
    """Read and inspect ``data`` as a trace: the requests that survived, or -1 if the file was refused."""
    path = folder / "fuzzed.trace.parquet"
    path.write_bytes(data)
    try:
        reader = TraceReader(path)
        blocks = list(reader.blocks(3))
        inspect_blocks(reader.header, blocks)
    except AdaptiveDepthError as error:
        assert str(error).startswith(str(path))
        return -1
    kept = sum(block.requests for block in blocks)
    assert kept == reader.requests or reader.problems
    return kept


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes_are_refused(folder, data, magic):
    """Bytes that are no Parquet file are refused, even between Parquet's magic words."""
    assert read_all(folder, b"PAR1" + data + b"PAR1" if magic else data) == -1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2), st.floats(0, 1, exclude_max=True))
def test_truncated_files_are_refused(folder, which, share):
    """A torn file has no footer and gives nothing, wherever it was torn."""
    data = (folder / str(which)).read_bytes()
    assert read_all(folder, data[: int(share * len(data))]) == -1


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 7)), min_size=1, max_size=5))
def test_flipped_bits_never_escape(folder, which, flips):
    """Flipped bits lose requests or the file, with a reason, and never raise anything else."""
    data = bytearray((folder / str(which)).read_bytes())
    for place, bit in flips:
        data[int(place * (len(data) - 1))] ^= 1 << bit
    read_all(folder, bytes(data))
