"""What can be said of a log of interval averages: what it measured; no policy can be replayed on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adaptive_depth.sim.replay_report import ReplayRow
from adaptive_depth.sim.replay_set import unsupported_row
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import IntervalsBlock

if TYPE_CHECKING:
    from adaptive_depth.sim.replay import ReplayJob


def interval_rows(header: TraceHeader, block: IntervalsBlock, job: ReplayJob) -> list[ReplayRow]:
    """One row as logged (accept length only), and an ``unsupported`` row for every policy asked for."""
    context = block.context[block.context >= 0]
    common: dict[str, object] = {
        "trace_set": header.trace_set,
        "origin": header.origin,
        "cost": job.cost_name,
        "context": int(context.mean()) if len(context) else 0,
        "batch": job.options.batch,
        "lag": job.options.lag,
        "requests": block.requests,
    }
    why = "a log of interval averages holds no rounds to replay"
    rows = [unsupported_row({**common, "policy": name}, why, "policy") for name, _ in job.policies]
    return [_as_logged(common, block), *rows]


def _as_logged(common: dict[str, object], block: IntervalsBlock) -> ReplayRow:
    counted = (block.accepted >= 0) & (block.drafted > 0) & (block.depth > 0)
    depth = block.depth[counted]
    rounds = int((block.drafted[counted] / depth).sum().round()) if counted.any() else 0
    length = _accept_length(block, counted, rounds)
    row = unsupported_row(
        {**common, "policy": "as logged"}, "accept length as logged; nothing replayed", "played"
    )
    from dataclasses import replace

    known = block.depth[block.depth >= 0]
    return replace(
        row,
        rounds=rounds,
        accept_length=length,
        mean_depth=float(known.mean()) if len(known) else None,
        depth_histogram={int(k): int(n) for k, n in zip(*np.unique(known, return_counts=True), strict=True)},
    )


def _accept_length(block: IntervalsBlock, counted: np.ndarray, rounds: int) -> float | None:
    """Over rounds where the log counts them, else the mean over intervals that drafted."""
    if rounds:
        return 1.0 + float(block.accepted[counted].sum()) / rounds
    logged = block.accept_length[np.isfinite(block.accept_length)]
    return float(logged.mean()) if len(logged) else None
