"""Trace files: Parquet with the header in the schema metadata and one row a request, read as a stream.

>>> import tempfile
>>> from adaptive_depth.traces.blocks import empty_block
>>> header = TraceHeader(kind="dense", trace_set="demo", origin="synthetic", k_max=7)
>>> with tempfile.TemporaryDirectory() as folder:
...     write_trace(f"{folder}/demo.trace.parquet", header, [empty_block(header)])
...     read_trace(f"{folder}/demo.trace.parquet")[1].requests
0
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from adaptive_depth.traces.blocks import concat_blocks, empty_block, select_requests
from adaptive_depth.traces.columns import from_batch
from adaptive_depth.traces.errors import TraceFormatError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import I64, Block
from adaptive_depth.traces.upgrade import upgrade_header, upgrade_rows
from adaptive_depth.traces.validate import Faults, header_fault, schema_fault, structure_faults, value_faults
from adaptive_depth.traces.writer import HEADER_KEY, SUFFIX, TraceWriter, write_trace

__all__ = ["SUFFIX", "TraceProblem", "TraceReader", "TraceWriter"]
__all__ += ["concat_blocks", "find_traces", "read_trace", "select_requests", "write_trace"]

#: What pyarrow raises on a damaged file; a ValueError also covers names that are not UTF-8.
_PARQUET_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)
#: Bounds on what a damaged footer can make the parser allocate.
_FOOTER_LIMITS = {"thrift_string_size_limit": 64 << 20, "thrift_container_size_limit": 1 << 20}


@dataclass(frozen=True, slots=True)
class TraceProblem:
    """Something left out of a trace, and why.

    ``row`` counts requests from 0 and is -1 where more than one request, or the whole file, is meant.
    """

    path: str
    row: int
    request_id: str
    reason: str

    def __str__(self) -> str:
        """One line for a person."""
        where = f" request {self.request_id!r} (row {self.row}):" if self.row >= 0 else ""
        return f"{self.path}:{where} {self.reason}"


class TraceReader:
    """Read one trace file; its requests come as blocks, never all at once.

    Requests that cannot be true are left out and named in ``problems``, which is complete once ``blocks`` is
    exhausted.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read the footer; :class:`TraceFormatError` for what is no trace or of a newer schema."""
        self.path = Path(path)
        with _open(self.path) as parquet:
            schema, rows = parquet.schema_arrow, _rows(parquet.metadata, self.path)
        raw, self._steps = upgrade_header(_header_json(schema, self.path), self.path)
        self.header = _header(raw, self.path)
        #: Requests in the file, bad ones included.
        self.requests: int = rows
        self.problems: list[TraceProblem] = []
        self._check_columns(schema)
        self._begin()

    def blocks(self, requests_per_block: int = 256) -> Iterator[Block]:
        """Yield blocks of at most ``requests_per_block`` requests; a block never spans two row groups."""
        self._begin()
        for row, batch in self._batches(requests_per_block):
            block = self._sound(row, batch)
            if block.requests:
                yield block

    def _begin(self) -> None:
        self.problems.clear()
        if not self.requests:
            self._problem(-1, "", "holds no requests")

    def _batches(self, size: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches with the number of their first row; a row group that cannot be read costs only itself."""
        row = 0
        with _open(self.path) as parquet:
            for group in range(parquet.num_row_groups):
                end = row + parquet.metadata.row_group(group).num_rows
                try:
                    for batch in parquet.iter_batches(size, row_groups=[group], use_threads=False):
                        batch.validate(full=True)
                        yield row, upgrade_rows(batch, self._steps)
                        row += batch.num_rows
                    if row < end:  # a damaged page header can end a row group without an error
                        self._lost(row, end, "the row group ends early")
                except _PARQUET_ERRORS as error:
                    self._lost(row, end, _first_line(error))
                row = end

    def _sound(self, first: int, batch: pa.RecordBatch) -> Block:
        """The good requests of a batch whose first row is number ``first``; the bad ones become problems."""
        names = batch.column("request_id").to_pylist()
        rows = self._drop(structure_faults(self.header, batch), first, names, np.arange(batch.num_rows))
        block = from_batch(self.header, batch.take(pa.array(rows)) if len(rows) < batch.num_rows else batch)
        kept = self._drop(value_faults(self.header, block), first, names, rows)
        return block if len(kept) == len(rows) else select_requests(block, np.searchsorted(rows, kept))

    def _drop(self, faults: Faults, first: int, names: list[str | None], rows: I64) -> I64:
        """Report ``faults`` (keyed by index into ``rows``) and return the rows without them."""
        for index, reason in sorted(faults.items()):
            row = int(rows[index])
            self._problem(first + row, names[row] or "", reason)
        return np.delete(rows, list(faults))

    def _lost(self, row: int, end: int, reason: str) -> None:
        self._problem(-1, "", f"rows {row}..{end - 1} cannot be read: {reason}")

    def _problem(self, row: int, request_id: str, reason: str) -> None:
        self.problems.append(TraceProblem(str(self.path), row, request_id, reason))

    def _check_columns(self, schema: pa.Schema) -> None:
        """Refuse a file whose columns are not those of its header's kind."""
        nothing = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], names=schema.names)
        fault = schema_fault(self.header, upgrade_rows(nothing, self._steps).schema)
        if fault:
            raise TraceFormatError(self.path, 0, fault)


def read_trace(path: str | os.PathLike[str]) -> tuple[TraceHeader, Block]:
    """Read a whole file into one block, without the requests that :class:`TraceReader` would report."""
    reader = TraceReader(path)
    blocks = list(reader.blocks())
    return reader.header, concat_blocks(blocks) if blocks else empty_block(reader.header)


def find_traces(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Files as given, and every ``*.trace.parquet`` below the folders given, each sorted by name.

    Raises :class:`TraceFormatError` for a path that is missing or unreadable, and where nothing is found.
    """
    given = [Path(path) for path in paths]
    found = [trace for path in given for trace in _traces_at(path)]
    if not found:
        raise TraceFormatError(" ".join(map(str, given)) or ".", 0, f"no *{SUFFIX} file here")
    return list(dict.fromkeys(found))


def _traces_at(path: Path) -> list[Path]:
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return [path]
        walk = os.walk(path, onerror=_raise)
        files = [Path(folder, name) for folder, _, names in walk for name in names if name.endswith(SUFFIX)]
    except OSError as error:
        raise TraceFormatError(error.filename or path, 0, error.strerror or str(error)) from None
    return sorted(files)


def _raise(error: OSError) -> None:
    raise error


def _open(path: Path) -> pq.ParquetFile:
    if path.is_dir():
        raise TraceFormatError(path, 0, "is a folder, expected a trace file")
    if path.exists() and not path.is_file():  # a named pipe would wait for ever
        raise TraceFormatError(path, 0, "is not a regular file")
    try:
        return pq.ParquetFile(path, buffer_size=1 << 20, page_checksum_verification=True, **_FOOTER_LIMITS)
    except OSError as error:
        raise TraceFormatError(path, 0, error.strerror or f"cannot be read: {_first_line(error)}") from None
    except UnicodeEncodeError:
        raise TraceFormatError(path, 0, "cannot be opened: its name is not UTF-8") from None
    except _PARQUET_ERRORS as error:
        raise TraceFormatError(path, 0, f"is not a readable Parquet file: {_first_line(error)}") from None


def _rows(metadata: pq.FileMetaData, path: Path) -> int:
    held: int = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if metadata.num_rows != held:
        reason = f"its footer is damaged: {metadata.num_rows} rows announced, row groups hold {held}"
        raise TraceFormatError(path, 0, reason)
    return held


def _header_json(schema: pa.Schema, path: Path) -> dict[str, Any]:
    text = (schema.metadata or {}).get(HEADER_KEY)
    if text is None:
        raise TraceFormatError(path, 0, f"is a Parquet file without a trace header ({HEADER_KEY.decode()})")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceFormatError(path, 0, f"header is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise TraceFormatError(path, 0, "header is not a JSON object")
    return raw


def _header(raw: dict[str, Any], path: Path) -> TraceHeader:
    try:
        header = TraceHeader.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise TraceFormatError(path, 0, f"header field {where!r}: {first['msg']}") from None
    fault = header_fault(header)
    if fault:
        raise TraceFormatError(path, 0, fault)
    return header


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
