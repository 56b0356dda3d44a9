"""What the report draws of one trace set besides its rows."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.types import Candidates, CostModel, Load
from adaptive_depth.sim.engine.hindsight import Ladder
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet
from adaptive_depth.sim.replay_report import RequestPath, SetPictures


def watched(trace: TraceSet) -> tuple[int, ...]:
    """Three requests to draw: the ones whose accept length lies lowest, in the middle and highest."""
    tokens = trace.output_tokens
    long = np.flatnonzero(tokens >= np.median(tokens)) if trace.requests else np.empty(0, np.int64)
    if not len(long):
        return ()
    sums = np.add.reduceat(trace.accepted[0], trace.start[:-1][tokens > 0], dtype=np.int64)
    mean = np.zeros(trace.requests)
    mean[tokens > 0] = sums / tokens[tokens > 0]
    order = long[np.argsort(mean[long], kind="stable")]
    return tuple(sorted({int(order[0]), int(order[len(order) // 2]), int(order[-1])}))


def paths_of(policy: str, trace: TraceSet, run: Replayed) -> list[RequestPath]:
    """The watched requests' rounds, one path a request."""
    if run.path is None:
        return []
    paths = []
    for request in np.unique(run.path[0]):
        _, position, depth, window, accepted = run.path[:, run.path[0] == request].tolist()
        name = trace.request_id[request] if trace.request_id else str(request)
        paths.append(RequestPath(policy, name, position, depth, window, accepted))
    return paths


def pictures_of(
    trace: TraceSet, candidates: Candidates, cost: CostModel, ladder: Ladder, paths: list[RequestPath]
) -> SetPictures:
    """Ladder, acceptance by position and round cost of one set."""
    rates: dict[int, list[tuple[int, float]]] = {window: [] for window in candidates.windows}
    for (depth, window), run in ladder.runs.items():
        for each in candidates.windows if depth == 0 else (window,):
            rates[each].append((depth, run.tokens_per_second))
    survival = {w: _survival(trace.accepted[row], trace.k_max) for w, row in _rows(trace, candidates)}
    return SetPictures(
        trace_set=trace.name,
        origin=trace.origin,
        evidence=cast(Literal["exact", "modelled"], trace.evidence if trace.known is None else "modelled"),
        windows=list(candidates.windows),
        ladder=rates,
        marginal={w: s.tolist() for w, s in survival.items()},
        conditional={w: _conditional(s).tolist() for w, s in survival.items()},
        paths=paths,
        round_seconds=_round_seconds(trace, candidates, cost),
    )


def _rows(trace: TraceSet, candidates: Candidates) -> list[tuple[int, int]]:
    return list(zip(candidates.windows, trace.rows_of(candidates.windows), strict=True))


def _survival(accepted: npt.NDArray[np.int8], k_max: int) -> npt.NDArray[np.float64]:
    """Share of positions that accept at least 1..K drafts."""
    counts = np.bincount(accepted, minlength=k_max + 1)
    survival: npt.NDArray[np.float64] = counts[::-1].cumsum()[::-1][1:] / max(len(accepted), 1)
    return survival


def _conditional(survival: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    before = np.concatenate([[1.0], survival[:-1]])
    conditional: npt.NDArray[np.float64] = np.zeros_like(survival)
    np.divide(survival, before, out=conditional, where=before > 0)
    return conditional


def _round_seconds(
    trace: TraceSet, candidates: Candidates, cost: CostModel
) -> dict[int, list[tuple[int, float]]]:
    context = np.array([trace.context.mean() if trace.requests else 0.0])
    reads = candidates.reads(context.astype(np.int64))
    full = np.broadcast_to(context[:, None], reads.shape)
    load = Load(np.ones((1, 1)), full, reads if cost.extend_windowed else full, reads)
    seconds = cost.seconds(load, candidates.depth_array)[0]
    return {
        window: [(k, float(s)) for k, s in zip(candidates.depths, row, strict=True) if np.isfinite(s)]
        for window, row in zip(candidates.windows, seconds, strict=True)
    }
