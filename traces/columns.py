"""The columns of a trace file: blocks to Arrow record batches and back, one row a request."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adaptive_depth.traces.blocks import offsets
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import Block, DenseBlock, IntervalsBlock, RoundsBlock

Array = npt.NDArray[Any]

TEXT = {
    "dense": ("request_id", "workload", "stop_reason"),
    "rounds": ("request_id", "workload", "stop_reason"),
    "intervals": ("request_id", "workload"),
}
NUMBER = {"dense": ("context",), "rounds": ("context", "output_tokens"), "intervals": ()}
ROUNDS_LISTS = {
    "position": pa.int32(),
    "depth": pa.int32(),
    "window": pa.int32(),
    "accepted": pa.int32(),
    "emitted": pa.int32(),
    "seconds": pa.float64(),
    "batch": pa.int32(),
}
INTERVALS_LISTS = {
    "time_s": pa.float64(),
    "running": pa.int32(),
    "context": pa.int64(),
    "depth": pa.int32(),
    "accept_length": pa.float64(),
    "accepted": pa.int64(),
    "drafted": pa.int64(),
    "tokens_per_second": pa.float64(),
}
#: Marginal acceptance by draft position, flattened [M * K]; K is the row's own width.
PER_POSITION = "per_position"


def list_columns(header: TraceHeader) -> dict[str, pa.DataType]:
    """Required list columns and their item types; all lists of a row have one length."""
    if header.kind == "dense":
        return {f"accepted_{w}": pa.int8() for w in header.windows}
    return ROUNDS_LISTS if header.kind == "rounds" else INTERVALS_LISTS


def wide_columns(header: TraceHeader) -> dict[str, pa.DataType]:
    """List columns whose lists hold several items a position or interval."""
    if header.kind == "dense":
        return {f"probability_{w}": pa.float16() for w in header.windows}
    return {PER_POSITION: pa.float64()} if header.kind == "intervals" else {}


def full_schema(header: TraceHeader) -> pa.Schema:
    """Every column a file with this header may have."""
    columns = [pa.field(name, pa.string()) for name in TEXT[header.kind]]
    columns += [pa.field(name, pa.int64()) for name in NUMBER[header.kind]]
    lists = list_columns(header) | wide_columns(header)
    if header.kind == "dense":
        lists = lists | {"looping": pa.bool_()}
    return pa.schema(columns + [pa.field(name, pa.list_(item)) for name, item in lists.items()])


def optional_columns(header: TraceHeader) -> set[str]:
    """Columns that a file may lack."""
    return {"looping", *wide_columns(header)} if header.kind == "dense" else set()


def to_batch(header: TraceHeader, block: Block) -> pa.RecordBatch:
    """Turn a block into rows; the block must fit the header."""
    arrays = dict(_flat_arrays(header, block))
    names, columns = [], []
    for field in full_schema(header):
        if field.name in TEXT[header.kind]:
            column = pa.array(getattr(block, field.name), pa.string())
        elif field.name in NUMBER[header.kind]:
            column = pa.array(getattr(block, field.name), pa.int64())
        elif field.name in arrays:
            column = _lists(block.start, arrays[field.name], field.type)
        else:
            continue
        names.append(field.name)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=names)


def from_batch(header: TraceHeader, batch: pa.RecordBatch) -> Block:
    """Turn rows whose structure has been checked into a block."""
    text: dict[str, Any] = {name: tuple(batch.column(name).to_pylist()) for name in TEXT[header.kind]}
    number: dict[str, Any] = {name: _numbers(batch.column(name)) for name in NUMBER[header.kind]}
    flat: dict[str, Any] = {name: _numbers(batch.column(name).flatten()) for name in list_columns(header)}
    start = offsets(lengths(batch.column(next(iter(flat)))))
    if header.kind == "rounds":
        return RoundsBlock(**text, **number, start=start, **flat)
    if header.kind == "intervals":
        return IntervalsBlock(**text, start=start, **flat, per_position=_per_position(batch, start))
    accepted = np.stack(list(flat.values()))
    extra: dict[str, Any] = {"probability": _probability(header, batch), "looping": _looping(batch)}
    return DenseBlock(**text, **number, start=start, accepted=accepted, **extra)


def lengths(column: pa.ListArray) -> Array:
    """Length of every list, i64[R]."""
    sizes: Array = np.diff(column.offsets.to_numpy()).astype(np.int64)
    return sizes


def _flat_arrays(header: TraceHeader, block: Block) -> list[tuple[str, Array]]:
    if not isinstance(block, DenseBlock):
        names = [*list_columns(header), *wide_columns(header)]
        return [(name, getattr(block, name)) for name in names]
    flat = list(zip(list_columns(header), block.accepted, strict=True))
    if block.probability is not None:
        flat += zip(wide_columns(header), block.probability, strict=True)
    return flat if block.looping is None else [*flat, ("looping", block.looping)]


def _lists(start: Array, values: Array, kind: pa.DataType) -> pa.ListArray:
    width = values.shape[1] if values.ndim == 2 else 1
    items = pa.array(np.ascontiguousarray(values).reshape(-1), kind.value_type)
    return pa.ListArray.from_arrays(pa.array(start * width, pa.int32()), items, type=kind)


def _numbers(array: pa.Array) -> Array:
    values: Array = array.to_numpy(zero_copy_only=False)
    return values


def _probability(header: TraceHeader, batch: pa.RecordBatch) -> Array | None:
    names = list(wide_columns(header))
    if names[0] not in batch.schema.names:
        return None
    flat = [_numbers(batch.column(name).flatten()) for name in names]
    positions = int(lengths(batch.column(f"accepted_{header.windows[0]}")).sum())
    return np.stack(flat).reshape(len(names), positions, header.k_max)


def _looping(batch: pa.RecordBatch) -> Array | None:
    return _numbers(batch.column("looping").flatten()) if "looping" in batch.schema.names else None


def _per_position(batch: pa.RecordBatch, start: Array) -> Array:
    column = batch.column(PER_POSITION)
    counts, sizes = np.diff(start), lengths(column)
    widths = np.repeat(sizes // np.maximum(counts, 1), counts)
    table = np.full((len(widths), int(widths.max(initial=0))), np.nan)
    table[np.arange(table.shape[1]) < widths[:, None]] = _numbers(column.flatten())
    return table
