"""What makes a request unusable: the checks a reader and a writer share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from adaptive_depth.traces.columns import (
    NUMBER,
    PER_POSITION,
    TEXT,
    full_schema,
    lengths,
    list_columns,
    optional_columns,
    wide_columns,
)
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import Block, DenseBlock, IntervalsBlock, RoundsBlock

Bool = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
BLOCK_TYPE: dict[str, type[Block]] = {"dense": DenseBlock, "rounds": RoundsBlock, "intervals": IntervalsBlock}
MAX_DEPTH = 127
#: Beyond any context or count; keeps sums within 64 bits.
MAX_TOKENS = 1 << 40
#: Windows are kept in 32 bits.
MAX_WINDOW = (1 << 31) - 1
#: Row -> the first reason why it cannot be used.
Faults = dict[int, str]


def header_fault(header: TraceHeader) -> str | None:
    """Why no file can have this header, or ``None``."""
    windows = header.windows
    if not windows or len(set(windows)) < len(windows) or min(windows) < 0:
        return f"windows must be distinct and 0 or more, got {windows}"
    if max(*windows, header.sink) > MAX_WINDOW:
        return f"windows and sink must be at most {MAX_WINDOW}, got {windows} and {header.sink}"
    if header.temperature is not None and not math.isfinite(header.temperature):
        return f"temperature must be finite, got {header.temperature}"
    return None


def schema_fault(header: TraceHeader, found: pa.Schema) -> str | None:
    """Why a file's columns are not those of its header's kind, or ``None``."""
    want, optional = full_schema(header), optional_columns(header)
    if len(set(found.names)) < len(found.names):
        return "two columns have the same name"
    for name in sorted(set(found.names) ^ set(want.names)):
        if name in found.names:
            return f"unexpected column {name!r}"
        if name not in optional:
            return f"column {name!r} is missing"
    for field in found:
        if not field.type.equals(want.field(field.name).type):
            return f"column {field.name!r} is {field.type}, expected {want.field(field.name).type}"
    return None


def structure_faults(header: TraceHeader, batch: pa.RecordBatch) -> Faults:
    """Rows with missing values or lists of unequal length."""
    faults: Faults = {}
    for name in (*TEXT[header.kind], *NUMBER[header.kind]):
        _note(faults, _isnull(batch.column(name)), f"{name} is missing")
    lists = list_columns(header)
    first = next(iter(lists))
    want = lengths(batch.column(first))
    for name in [c for c in batch.schema.names if pa.types.is_list(batch.schema.field(c).type)]:
        column = batch.column(name)
        _note(faults, _isnull(column) | _holds_null(column), f"{name} has missing values")
        if name in lists or name == "looping":
            _note(faults, lengths(column) != want, f"{name} and {first} differ in length")
    for name in set(wide_columns(header)) & set(batch.schema.names):
        _note(
            faults, _bad_width(header, name, lengths(batch.column(name)), want), f"{name} has a wrong length"
        )
    return faults


def value_faults(header: TraceHeader, block: Block) -> Faults:
    """Requests whose numbers cannot be true."""
    faults: Faults = {}
    by_request: Iterator[tuple[str, Bool]] = iter(())
    if isinstance(block, DenseBlock):
        flat = _dense(header, block)
        by_request = iter([_tokens("context", block.context)])
    elif isinstance(block, RoundsBlock):
        flat = _rounds(block)
        by_request = _rounds_by_request(block)
    else:
        flat = _intervals(block)
    for reason, bad in by_request:
        _note(faults, bad, reason)
    for reason, bad in flat:
        _note(faults, _owners(block, bad), reason)
    return faults


def _dense(header: TraceHeader, block: DenseBlock) -> Iterator[tuple[str, Bool]]:
    reason, outside = _outside("accepted", block.accepted, 0, header.k_max)
    yield reason, _any(outside, 0)
    if block.probability is not None:
        p = block.probability
        yield "probability is outside 0..1", _any((p < 0) | (p > 1), (0, 2))


def _rounds_by_request(block: RoundsBlock) -> Iterator[tuple[str, Bool]]:
    yield _tokens("context", block.context)
    yield _outside("output_tokens", block.output_tokens, 0, MAX_TOKENS)


def _rounds(block: RoundsBlock) -> Iterator[tuple[str, Bool]]:
    known = block.depth >= 0
    yield _outside("depth", block.depth, -1, MAX_DEPTH)
    yield _outside("accepted", block.accepted, 0, MAX_DEPTH)
    yield "accepted is above the depth", known & (block.accepted > block.depth)
    yield "emitted is negative", block.emitted < 0
    yield "emitted is above accepted + 1", block.emitted > block.accepted.astype(np.int64) + 1
    yield "window is negative", block.window < 0
    yield "seconds is negative or infinite", _not_a_measure(block.seconds)
    yield "batch is neither -1 nor 1 or more", (block.batch < -1) | (block.batch == 0)
    yield "position is negative", block.position < 0
    yield "positions do not ascend", _descends(block)


def _descends(block: RoundsBlock) -> Bool:
    """True where a round starts before the one ahead of it; it may start at the same position."""
    falls = np.zeros(len(block.position), np.bool_)
    falls[1:] = block.position[1:] < block.position[:-1]
    first = block.start[:-1][np.diff(block.start) > 0]
    falls[first] = False
    return falls


def _intervals(block: IntervalsBlock) -> Iterator[tuple[str, Bool]]:
    yield _outside("depth", block.depth, -1, MAX_DEPTH)
    for name in ("running", "context", "accepted", "drafted"):
        yield _tokens(name, getattr(block, name))
    yield "accepted is above drafted", (block.drafted >= 0) & (block.accepted > block.drafted)
    yield "time_s is infinite", np.isinf(block.time_s)
    for name in ("accept_length", "tokens_per_second"):
        yield f"{name} is negative or infinite", _not_a_measure(getattr(block, name))
    p = block.per_position
    yield "per_position is outside 0..1", _any((p < 0) | (p > 1), 1)


def _tokens(name: str, values: Array) -> tuple[str, Bool]:
    return _outside(name, values, -1, MAX_TOKENS)


def _outside(name: str, values: Array, low: int, high: int) -> tuple[str, Bool]:
    return f"{name} is outside {low}..{high}", (values < low) | (values > high)


def _any(bad: Bool, axis: int | tuple[int, ...]) -> Bool:
    over: Bool = np.logical_or.reduce(bad, axis=axis)
    return over


def _not_a_measure(values: Array) -> Bool:
    """NaN means unknown and is fine."""
    bad: Bool = (values < 0) | np.isinf(values)
    return bad


def _bad_width(header: TraceHeader, name: str, got: Array, want: Array) -> Bool:
    bad: Bool = (
        np.where(want > 0, got % np.maximum(want, 1), got) != 0
        if name == PER_POSITION
        else got != want * header.k_max
    )
    return bad


def _note(faults: Faults, bad: Bool, reason: str) -> None:
    for row in np.flatnonzero(bad).tolist():
        faults.setdefault(row, reason)


def _owners(block: Block, bad: Bool) -> Bool:
    """Requests that own at least one bad item, bool[R]."""
    owners = np.zeros(block.requests, np.bool_)
    hits = np.flatnonzero(bad)
    owners[np.searchsorted(block.start, hits, side="right") - 1] = True
    return owners


def _isnull(column: pa.Array) -> Bool:
    nulls: Bool = column.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _holds_null(column: pa.ListArray) -> Bool:
    rows = np.zeros(len(column), np.bool_)
    items = column.flatten()
    if items.null_count:
        ends = np.cumsum(np.where(_isnull(column), 0, lengths(column)))
        rows[np.searchsorted(ends, np.flatnonzero(_isnull(items)), side="right")] = True
    return rows


def shape_fault(header: TraceHeader, block: Block) -> str | None:
    """Why the arrays of a block fit neither each other nor the header, or ``None``."""
    if type(block) is not BLOCK_TYPE[header.kind]:
        return f"a {type(block).__name__} does not belong in a file of kind {header.kind!r}"
    by_request = {len(getattr(block, name)) for name in (*TEXT[header.kind], *NUMBER[header.kind])}
    if by_request != {len(block.start) - 1}:
        return "the arrays with one item a request differ in length"
    if block.start[0] != 0 or (np.diff(block.start) < 0).any():
        return "start must begin at 0 and never fall"
    for name, want in _shapes(header, block).items():
        got = getattr(block, name).shape
        if got != want:
            return f"{name} has shape {got}, expected {want}"
    return None


def _shapes(header: TraceHeader, block: Block) -> dict[str, tuple[int, ...]]:
    total = int(block.start[-1])
    if isinstance(block, DenseBlock):
        front = (len(header.windows), total)
        optional = {"probability": (*front, header.k_max), "looping": (total,)}
        return {"accepted": front} | {k: v for k, v in optional.items() if getattr(block, k) is not None}
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(list_columns(header), (total,))
    if isinstance(block, IntervalsBlock):
        shapes[PER_POSITION] = (total, block.per_position.shape[1])
    return shapes
