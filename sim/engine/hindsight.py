"""What could have been done: the static ladder, its best in hindsight, and intervals by request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.types import Candidates, CostModel
from adaptive_depth.sim.engine.constant import replay_constant
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet

#: Resamples of a bootstrap, and the cells it may hold at once.
RESAMPLES, CELLS = 1000, 4_000_000


@dataclass(frozen=True, slots=True)
class Ladder:
    """Every candidate depth and window played statically over one trace set."""

    runs: dict[tuple[int, int], Replayed]

    @property
    def best(self) -> tuple[int, int]:
        """The (depth, window) of most tokens a second; the shallower one on a tie."""
        return max(self.runs, key=lambda choice: self.runs[choice].tokens_per_second)

    def best_per_request(self) -> Replayed:
        """Every request at the static choice that was fastest for it."""
        runs = list(self.runs.items())
        seconds = np.stack([run.seconds for _, run in runs])
        pick, every = seconds.argmin(axis=0), np.arange(seconds.shape[1])
        out = Replayed.empty(seconds.shape[1])
        out.tokens, out.seconds = runs[0][1].tokens.copy(), seconds[pick, every]
        out.rounds = np.stack([run.rounds for _, run in runs])[pick, every]
        for index, ((depth, window), _) in enumerate(runs):
            rounds = int(out.rounds[pick == index].sum())
            out.depth_sum[pick == index] = out.rounds[pick == index] * depth
            if rounds:
                out.depth_histogram[depth] = out.depth_histogram.get(depth, 0) + rounds
                out.window_histogram[window] = out.window_histogram.get(window, 0) + rounds
        out.group_rounds, out.lanes = int(out.rounds.sum()), len(every)
        shares = [run.known_rounds / max(int(run.rounds.sum()), 1) for _, run in runs]
        out.known_rounds = int(min(shares) * out.group_rounds)
        return out


def static_ladder(trace: TraceSet, candidates: Candidates, cost: CostModel, options: ReplayOptions) -> Ladder:
    """Play every candidate depth and window; depth 0 drafts nothing and is played once.

    Its window is the shortest: a server that keeps the drafter warm pays for what draft-extend reads.
    """
    shortest = min(candidates.windows, key=lambda window: window or np.inf)
    runs: dict[tuple[int, int], Replayed] = {}
    for depth in candidates.depths:
        for window in candidates.windows if depth else (shortest,):
            runs[depth, window] = _static(trace, candidates, depth, window, cost, options)
    return Ladder(runs)


def _static(
    trace: TraceSet, candidates: Candidates, depth: int, window: int, cost: CostModel, options: ReplayOptions
) -> Replayed:
    if options.batch == 1:
        return replay_constant(trace, depth, window, cost)
    from adaptive_depth.controller.depth_controller import DepthController, FixedCost
    from adaptive_depth.policies.static import Static, StaticConfig

    rule = Static(StaticConfig(depth=depth, window=window), candidates)
    controller = DepthController(candidates, rule, None, FixedCost(cost), strict=True)
    return replay_dense(trace, controller, cost, options)


def ratio_interval(run: Replayed, base: Replayed, *, seed: int = 0) -> tuple[float, float] | None:
    """95 % interval of ``rate(run)/rate(base) - 1``, resampling requests; ``None`` below two of them.

    Requests without output took no time and say nothing.
    """
    columns = np.stack([run.tokens, run.seconds, base.tokens, base.seconds], axis=1).astype(np.float64)
    columns = columns[run.tokens > 0]
    if len(columns) < 2:
        return None
    ratios = _resampled_ratios(columns, np.random.default_rng(seed))
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def _resampled_ratios(columns: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    requests = len(columns)
    chunk = max(1, CELLS // requests)
    sums = []
    for first in range(0, RESAMPLES, chunk):
        count = min(chunk, RESAMPLES - first)
        weights = rng.multinomial(requests, np.full(requests, 1 / requests), size=count)
        sums.append(weights @ columns)
    tokens, seconds, base_tokens, base_seconds = np.concatenate(sums).T
    ratios: npt.NDArray[np.float64] = (tokens / seconds) / (base_tokens / base_seconds) - 1.0
    return ratios
