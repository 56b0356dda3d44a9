"""Log intervals by stream: compact columns while a log is read, one block at the end."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from adaptive_depth.traces.blocks import offsets
from adaptive_depth.traces.records import F64, UNKNOWN, IntervalsBlock

_NAN = float("nan")


class Interval(NamedTuple):
    """One averaged stretch of a log; see :class:`IntervalsBlock` for the units."""

    time_s: float = _NAN
    running: int = UNKNOWN
    context: int = UNKNOWN
    depth: int = UNKNOWN
    accept_length: float = _NAN
    accepted: int = UNKNOWN
    drafted: int = UNKNOWN
    tokens_per_second: float = _NAN


_INTEGERS = {
    "running": np.int32,
    "context": np.int64,
    "depth": np.int32,
    "accepted": np.int64,
    "drafted": np.int64,
}


@dataclass(slots=True)
class Stream:
    """Intervals of one engine or rank, 64 bytes each; ``time_s`` becomes relative to the first known one."""

    name: str
    _values: array[float] = field(default_factory=lambda: array("d"))
    per_position: list[tuple[float, ...]] = field(default_factory=list)

    def add(self, interval: Interval, per_position: tuple[float, ...] = ()) -> None:
        """Append an interval."""
        self._values.extend(interval)
        if per_position or self.per_position:
            self.per_position += [()] * (len(self) - 1 - len(self.per_position)) + [per_position]

    def __len__(self) -> int:
        """Number of intervals."""
        return len(self._values) // len(Interval._fields)

    def table(self) -> F64:
        """All values, f64[M, fields of Interval]; a view, so changes are kept."""
        return np.frombuffer(self._values, np.float64).reshape(-1, len(Interval._fields))

    def column(self, name: str) -> F64:
        """One field of every interval, f64[M]; a view."""
        return self.table()[:, Interval._fields.index(name)]


def intervals_block(streams: list[Stream], workload: str) -> IntervalsBlock:
    """One block of all streams; ``workload`` names them all."""
    table = np.concatenate([stream.table() for stream in streams])
    columns = {name: table[:, i] for i, name in enumerate(Interval._fields)}
    columns["time_s"] = np.concatenate([_since_first(stream.column("time_s")) for stream in streams])
    return IntervalsBlock(
        request_id=tuple(stream.name for stream in streams),
        workload=(workload,) * len(streams),
        start=offsets([len(stream) for stream in streams]),
        per_position=_padded(streams),
        **{name: column.astype(_INTEGERS.get(name, np.float64)) for name, column in columns.items()},
    )


def _since_first(times: F64) -> F64:
    known = times[~np.isnan(times)]
    return times - known[0] if len(known) else times


def _padded(streams: list[Stream]) -> F64:
    """Marginal acceptance by position, f64[M, widest]; NaN where a row has none."""
    rows = [
        row
        for stream in streams
        for row in stream.per_position + [()] * (len(stream) - len(stream.per_position))
    ]
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table
