"""Writing trace files: row groups of bounded size, under the final name only after a clean close."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adaptive_depth.traces.blocks import concat_blocks, empty_block, select_requests
from adaptive_depth.traces.columns import to_batch
from adaptive_depth.traces.errors import TraceFormatError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import Block, DenseBlock
from adaptive_depth.traces.validate import header_fault, shape_fault, value_faults

SUFFIX = ".trace.parquet"
HEADER_KEY = b"adaptive_depth.header"

#: A row group closes when its arrays reach this many bytes or requests. Decoding one takes about ten times
#: its bytes (Parquet widens int8 and adds levels), and that is all a reader ever holds.
ROW_GROUP_BYTES = 8 << 20
ROW_GROUP_REQUESTS = 4096


class TraceWriter:
    """Write a trace file block by block, as a context manager.

    A request that a reader would drop is refused: :class:`TraceFormatError` names it. Blocks are buffered
    until a row group is full and their arrays are not copied, so do not change them after :meth:`write`. If
    the body raises, no file is left and an older file of that name stays as it was.
    """

    def __init__(self, path: str | os.PathLike[str], header: TraceHeader) -> None:
        """Check the name and the header; nothing is opened yet."""
        self.path, self.header = Path(path), header
        if not self.path.name.endswith(SUFFIX):
            raise TraceFormatError(self.path, 0, f"a trace file's name must end in {SUFFIX}")
        if fault := header_fault(header):
            raise TraceFormatError(self.path, 0, fault)
        self._temporary = self.path.with_name(f".{uuid.uuid4().hex}.partial")
        self._optional: tuple[bool, bool] | None = None
        self._pending: list[Block] = []
        self._pending_bytes = self._pending_requests = 0
        self._file: IO[bytes] | None = None
        self._parquet: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        """Open the temporary file, making the folder where needed."""
        with self._write_errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._temporary.open("wb")
        return self

    def write(self, block: Block) -> None:
        """Append the requests of ``block``."""
        self._refuse_faults(block)
        self._refuse_other_columns(block)
        for part in _cut(block):
            self._pending.append(part)
            self._pending_bytes += _bytes(part)
            self._pending_requests += part.requests
            if self._pending_bytes >= ROW_GROUP_BYTES or self._pending_requests >= ROW_GROUP_REQUESTS:
                with self._write_errors():
                    self._flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; give the file its final name if the body raised nothing."""
        try:
            if kind is None:
                with self._write_errors():
                    self._finish()
        finally:
            self._abandon()

    @contextlib.contextmanager
    def _write_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise TraceFormatError(self.path, 0, f"cannot be written: {error}") from None

    def _refuse_faults(self, block: Block) -> None:
        fault = shape_fault(self.header, block)
        if fault is None:
            for row, reason in sorted(value_faults(self.header, block).items())[:1]:
                fault = f"request {block.request_id[row]!r}: {reason}"
        if fault is not None:
            raise TraceFormatError(self.path, 0, fault)

    def _refuse_other_columns(self, block: Block) -> None:
        """All blocks of a file have the optional arrays of its first."""
        if isinstance(block, DenseBlock) and block.requests:
            optional = (block.probability is not None, block.looping is not None)
            self._optional = self._optional or optional
            if optional != self._optional:
                raise TraceFormatError(
                    self.path, 0, "some blocks have probability or looping and some do not"
                )

    def _flush(self) -> None:
        batch = to_batch(self.header, concat_blocks(self._pending))
        self._pending.clear()
        self._pending_bytes = self._pending_requests = 0
        if self._parquet is None:
            metadata = {HEADER_KEY: self.header.model_dump_json().encode()}
            schema = batch.schema.with_metadata(metadata)
            self._parquet = pq.ParquetWriter(self._file, schema, compression="zstd", write_page_checksum=True)
        self._parquet.write_table(pa.Table.from_batches([batch]), row_group_size=max(1, batch.num_rows))

    def _finish(self) -> None:
        if self._pending or self._parquet is None:
            self._pending = self._pending or [empty_block(self.header)]
            self._flush()
        assert self._parquet is not None and self._file is not None
        self._parquet.close()
        self._parquet = None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._temporary, self.path)

    def _abandon(self) -> None:
        """Close what is open and remove the temporary file; after a clean close nothing is left to do."""
        with contextlib.suppress(OSError, pa.ArrowException):
            if self._parquet is not None:
                self._parquet.close()
            if self._file is not None:
                self._file.close()
            self._temporary.unlink(missing_ok=True)


def write_trace(path: str | os.PathLike[str], header: TraceHeader, blocks: Iterable[Block]) -> None:
    """Write all ``blocks`` to ``path``; errors as :class:`TraceWriter`."""
    with TraceWriter(path, header) as writer:
        for block in blocks:
            writer.write(block)


def _bytes(block: Block) -> int:
    return sum(getattr(getattr(block, f.name), "nbytes", 0) for f in fields(block))


def _cut(block: Block) -> Iterator[Block]:
    """Cut a block into runs of requests of at most a row group's bytes, one request at the least."""
    budget = ROW_GROUP_BYTES / max(_bytes(block), 1) * max(int(block.start[-1]), 1)
    lo = 0
    while lo < block.requests:
        hi = int(np.searchsorted(block.start, block.start[lo] + budget, side="right")) - 1
        hi = min(max(hi, lo + 1), lo + ROW_GROUP_REQUESTS, block.requests)
        yield block if (lo, hi) == (0, block.requests) else select_requests(block, np.arange(lo, hi))
        lo = hi
