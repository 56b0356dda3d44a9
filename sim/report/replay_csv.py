"""A replay as CSV: the rows of the JSON contract, flat, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

from adaptive_depth.sim.replay_report import ReplayReport, ReplayRow
from adaptive_depth.sim.report.replay_json import record

#: Every key of the JSON rows; the interval takes two columns.
COLUMNS = [
    column
    for field in dataclasses.fields(ReplayRow)
    for column in (("ci95_low", "ci95_high") if field.name == "ci95" else (field.name,))
]


def to_csv(report: ReplayReport) -> str:
    """Header and rows; an unknown figure is empty, a histogram reads ``key:count;key:count``."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(row) for row in report.rows)
    return text.getvalue()


def _flat(row: ReplayRow) -> dict[str, Any]:
    values = record(row)
    low, high = values.pop("ci95") or (None, None)
    for name in ("depth_histogram", "window_histogram"):
        values[name] = ";".join(f"{key}:{count}" for key, count in values[name].items())
    return values | {"ci95_low": low, "ci95_high": high}
