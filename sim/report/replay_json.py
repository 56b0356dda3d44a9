"""A replay as JSON: ``{"schema", "rows": [...]}``, the contract other programs read."""

from __future__ import annotations

import dataclasses
import json
from numbers import Integral, Real
from typing import Any

from adaptive_depth.sim.replay_report import ReplayReport, ReplayRow
from adaptive_depth.sim.report.replay_cells import known


def to_json(report: ReplayReport) -> str:
    """The rows as one document; ratios are fractions, no figure is ``null``, histogram keys are strings."""
    document = {"schema": report.schema, "rows": [record(row) for row in report.rows]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def record(row: ReplayRow) -> dict[str, Any]:
    """One row as plain values, floats at full precision; the fields of a row are the keys of the contract."""
    return {field.name: _plain(getattr(row, field.name)) for field in dataclasses.fields(row)}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): int(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Integral):  # NumPy's integers too
        return int(value)
    return known(float(value)) if isinstance(value, Real) else value
