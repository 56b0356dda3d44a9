"""Joining blocks and picking requests out of them, alike for the three kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import I64, Block, DenseBlock, IntervalsBlock, RoundsBlock

B = TypeVar("B", bound=Block)
Array = npt.NDArray[Any]

_BY_REQUEST = ((DenseBlock, "context"), (RoundsBlock, "context"), (RoundsBlock, "output_tokens"))
#: Flat arrays with the windows in front: positions run along axis 1.
_BY_WINDOW = {"accepted", "probability"}


def concat_blocks(blocks: Iterable[B]) -> B:
    """Join blocks of one kind into one; ``ValueError`` for none, mixed kinds or differing optional arrays.

    ``per_position`` of intervals is padded with NaN to the widest.
    """
    parts = list(blocks)
    if not parts:
        raise ValueError("no blocks to join")
    if len({type(part) for part in parts}) > 1:
        raise ValueError("blocks of different kinds cannot be joined")
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {f.name: _joined(parts, f.name) for f in fields(parts[0])}
    return replace(parts[0], **joined)


def select_requests(block: B, rows: npt.ArrayLike) -> B:
    """Copy the requests at ``rows`` (i64, any order, repeats allowed) into a new block."""
    picked = np.asarray(rows, np.int64)
    lengths = np.diff(block.start)[picked]
    start = offsets(lengths)
    index = np.arange(start[-1]) + np.repeat(block.start[picked] - start[:-1], lengths)
    changed: dict[str, Any] = {"start": start}
    for field in fields(block):
        value = getattr(block, field.name)
        if isinstance(value, tuple):
            changed[field.name] = tuple(value[row] for row in picked.tolist())
        elif value is not None and field.name != "start":
            where = picked if (type(block), field.name) in _BY_REQUEST else index
            changed[field.name] = np.take(value, where, axis=_axis(block, field.name))
    return replace(block, **changed)


def empty_block(header: TraceHeader) -> Block:
    """A block without requests of the header's kind."""
    if header.kind == "intervals":
        return empty_intervals()
    start, i32, i64 = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    if header.kind == "dense":
        return DenseBlock((), (), (), i64, start, np.zeros((len(header.windows), 0), np.int8))
    return RoundsBlock((), (), (), i64, i64, start, i32, i32, i32, i32, i32, np.zeros(0), i32)


def empty_intervals() -> IntervalsBlock:
    """An intervals block without streams."""
    start, i32, i64, f64 = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0)
    return IntervalsBlock((), (), start, f64, i32, i64, i32, f64, i64, i64, f64, np.zeros((0, 0)))


def offsets(lengths: npt.ArrayLike) -> I64:
    """``[R]`` lengths to ``[R+1]`` offsets, i64."""
    counts = np.asarray(lengths, np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _axis(block: Block, name: str) -> int:
    return 1 if isinstance(block, DenseBlock) and name in _BY_WINDOW else 0


def _joined(parts: list[B], name: str) -> Array | tuple[str, ...] | None:
    values = [getattr(part, name) for part in parts]
    if name == "start":
        return offsets(np.concatenate([np.diff(value) for value in values]))
    if isinstance(values[0], tuple):
        return tuple(item for value in values for item in value)
    if all(value is None for value in values):
        return None
    if any(value is None for value in values):
        raise ValueError(f"some blocks have {name!r} and some do not")
    if name == "per_position":
        values = _padded(values)
    return np.concatenate(values, axis=_axis(parts[0], name))


def _padded(values: list[Array]) -> list[Array]:
    width = max(value.shape[1] for value in values)
    return [np.pad(v, ((0, 0), (0, width - v.shape[1])), constant_values=np.nan) for v in values]
