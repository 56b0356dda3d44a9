"""A replay as JSON: ``{"schema", "rows": [...]}``, the contract other programs read."""

from __future__ import annotations

import json
from typing import Any

from adaptive_depth.sim.replay_report import ReplayReport, ReplayRow
from adaptive_depth.sim.report.replay_cells import known


def to_json(report: ReplayReport) -> str:
    """The rows as one document; ratios are fractions, an unknown figure is ``null``, histogram keys are strings."""
    document = {"schema": report.schema, "rows": [record(row) for row in report.rows]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def record(row: ReplayRow) -> dict[str, Any]:
    """One row as plain values, in the order of the contract; floats at full precision."""
    return {
        "trace_set": row.trace_set,
        "origin": row.origin,
        "cost": row.cost,
        "context": int(row.context),
        "batch": int(row.batch),
        "lag": int(row.lag),
        "policy": row.policy,
        "requests": int(row.requests),
        "rounds": int(row.rounds),
        "tokens": int(row.tokens),
        "seconds": known(row.seconds),
        "tokens_per_second": known(row.tokens_per_second),
        "ms_per_token": known(row.ms_per_token),
        "accept_length": known(row.accept_length),
        "mean_depth": known(row.mean_depth),
        "depth_histogram": _histogram(row.depth_histogram),
        "window_histogram": _histogram(row.window_histogram),
        "switches_per_1000": known(row.switches_per_1000),
        "vs_best_static": known(row.vs_best_static),
        "vs_best_static_per_request": known(row.vs_best_static_per_request),
        "vs_clairvoyant": known(row.vs_clairvoyant),
        "gap_closed": known(row.gap_closed),
        "speedup_vs_no_spec": known(row.speedup_vs_no_spec),
        "ci95": None if row.ci95 is None else [known(end) for end in row.ci95],
        "evidence": row.evidence,
        "coverage": known(row.coverage),
        "role": row.role,
        "lanes": int(row.lanes),
        "note": row.note,
    }


def _histogram(counts: dict[int, int]) -> dict[str, int]:
    return {str(key): int(counts[key]) for key in sorted(counts)}
