"""Pure functions that lift a trace of an older schema to the current one, version by version.

Version 1 is the first, so :data:`UPGRADES` is empty. When version 2 comes, its entry 1 is
``Upgrade(header_1_to_2, rows_1_to_2)``, and the golden files of version 1 prove that old files still read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from adaptive_depth.traces.errors import TraceFormatError, UnsupportedTraceVersion
from adaptive_depth.traces.header import SCHEMA_NAME, SCHEMA_VERSION

RawHeader = dict[str, Any]


class Upgrade(NamedTuple):
    """One step from version n to n + 1: the header as decoded JSON, and a batch of rows. Both pure."""

    header: Callable[[RawHeader], RawHeader]
    rows: Callable[[pa.RecordBatch], pa.RecordBatch]


#: Version n -> the step from n to n + 1.
UPGRADES: dict[int, Upgrade] = {}


def upgrade_header(raw: RawHeader, path: object) -> tuple[RawHeader, tuple[Upgrade, ...]]:
    """Return the header at the current version and the steps its rows still need.

    Raises :class:`TraceFormatError` for another schema and :class:`UnsupportedTraceVersion` for a newer
    version, or for an older one that no step starts from.
    """
    if raw.get("schema_name") != SCHEMA_NAME:
        raise TraceFormatError(path, 0, f"schema is {raw.get('schema_name')!r}, expected {SCHEMA_NAME!r}")
    version = raw.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise TraceFormatError(path, 0, f"schema_version is {version!r}, expected a whole number")
    if version > SCHEMA_VERSION:
        raise UnsupportedTraceVersion(
            path, 0, f"schema version {version}; this reader knows up to {SCHEMA_VERSION}"
        )
    steps = _steps(version, path)
    for step in steps:
        raw = step.header(raw)
    return raw, steps


def upgrade_rows(batch: pa.RecordBatch, steps: tuple[Upgrade, ...]) -> pa.RecordBatch:
    """Apply the steps of :func:`upgrade_header` to a batch of rows."""
    for step in steps:
        batch = step.rows(batch)
    return batch


def _steps(version: int, path: object) -> tuple[Upgrade, ...]:
    missing = [n for n in range(version, SCHEMA_VERSION) if n not in UPGRADES] if version >= 0 else [version]
    if missing:
        reason = f"schema version {version} cannot be upgraded to {SCHEMA_VERSION}: no step from {missing[0]}"
        raise UnsupportedTraceVersion(path, 0, reason)
    return tuple(UPGRADES[n] for n in range(version, SCHEMA_VERSION))
