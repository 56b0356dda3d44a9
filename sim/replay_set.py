"""Replays one dense trace set: the static ladder, what hindsight knows, and every policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.default_candidates import default_candidates
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.controller.table_cost import TableCost
from adaptive_depth.policies.cost_model import Load
from adaptive_depth.policies.spec import PolicySpec
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine.clairvoyant import clairvoyant
from adaptive_depth.sim.engine.dense import replay_dense
from adaptive_depth.sim.engine.hindsight import Ladder, ratio_interval, static_ladder
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet
from adaptive_depth.sim.replay_pictures import paths_of, pictures_of, watched
from adaptive_depth.sim.replay_report import ReplayRow, RequestPath, Role, SetPictures
from adaptive_depth.traces.errors import AdaptiveDepthError, ConfigError

if TYPE_CHECKING:
    from adaptive_depth.sim.replay import ReplayJob

#: Candidate depths where nobody says, as deep as the trace allows.
DEPTHS = tuple(range(9))
START_DEPTH = 3
#: A gap to the clairvoyant below this share is sums rounding differently.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Bounds:
    """What every row of a set is held against; the clairvoyant is exact for one request a round only."""

    best_static: Replayed
    per_request: Replayed
    no_spec: Replayed | None
    clairvoyant: Replayed | None


def replay_set(
    trace: TraceSet, job: ReplayJob, advance: Callable[[int, str], None]
) -> tuple[list[ReplayRow], SetPictures]:
    """All rows of one trace set, and its pictures."""
    candidates = set_candidates(trace, job)
    reach = _within_reach(trace, job, candidates)
    ladder = static_ladder(trace, reach, job.cost, job.options)
    best = ladder.runs[ladder.best]
    seer = clairvoyant(trace, reach, job.cost) if job.options.batch == 1 else None
    idle = next((run for (depth, _), run in ladder.runs.items() if depth == 0), None)
    table = _Table(trace, job, Bounds(best, ladder.best_per_request(), idle, seer))
    paths: list[RequestPath] = []
    for name, policy in job.policies:
        advance(0, f"{trace.name}: {name}")
        table.policy(name, policy, candidates, advance, paths)
    table.hindsight(ladder)
    table.ladder(ladder)
    return table.rows, pictures_of(trace, reach, job.cost, ladder, paths)


def set_candidates(trace: TraceSet, job: ReplayJob) -> Candidates:
    """Depths and windows that this trace and cost can tell about; ConfigError where none is left."""
    wanted = DEPTHS if job.depths is None else job.depths
    if job.depths is None and isinstance(job.cost, TableCost):
        wanted = job.cost.depths
    recorded = [k for k in set(wanted) if k <= trace.k_max]
    depths = tuple(sorted(set(recorded) - unpriced(recorded, job)))
    if not depths:
        raise ConfigError(f"none of the depths {wanted} is both recorded (to {trace.k_max}) and priced")
    windows = trace.windows if job.windows is None else job.windows
    trace.rows_of(windows)
    start = min(depths, key=lambda k: (abs(k - START_DEPTH), k))
    window = max(windows, key=lambda w: (w == 4032, w == 0))
    return Candidates(depths, windows, trace.sink, start_depth=start, start_window=window)


def unpriced(depths: Sequence[int], job: ReplayJob) -> set[int]:
    """Depths that cost infinity for a full batch: a table may lack them, there or everywhere."""
    one = np.array([job.options.batch])
    seconds = job.cost.seconds(Load(one, one, one, one), np.array(depths, np.int64))[0]
    return {depth for depth, price in zip(depths, seconds, strict=True) if not np.isfinite(price)}


def policy_candidates(
    policy: PolicySpec | PolicyFile, trace: TraceSet, every: Candidates, job: ReplayJob | None = None
) -> Candidates:
    """What a policy chooses from: its own ladder or file, else all; ConfigError if beyond trace or cost."""
    if isinstance(policy, PolicyFile) and policy.candidates is not None:
        own = policy.choices()
    elif policy.name == "sglang-ema":
        ladder = default_candidates(policy.config())
        own = Candidates(
            ladder.depths,
            (every.start_window,),
            every.sink,
            start_depth=ladder.start_depth,
            start_window=every.start_window,
        )
    else:
        return every
    if own.k_max > trace.k_max:
        raise ConfigError(f"depth {own.k_max} is deeper than recorded ({trace.k_max})")
    if job is not None and (missing := unpriced(own.depths, job)):
        raise ConfigError(f"the cost table has no price for depth {', '.join(map(str, sorted(missing)))}")
    trace.rows_of(own.windows)
    return own


def _within_reach(trace: TraceSet, job: ReplayJob, every: Candidates) -> Candidates:
    """All that any of the policies may choose: a bound over less could be beaten."""
    depths, windows = set(every.depths), list(every.windows)
    for _, policy in job.policies:
        try:
            own = policy_candidates(policy, trace, every, job)
        except AdaptiveDepthError:  # its row will say why
            continue
        depths.update(own.depths)
        windows += [window for window in own.windows if window not in windows]
    return replace(every, depths=tuple(sorted(depths)), windows=tuple(windows))


class _Table:
    """Collects the rows of one trace set."""

    def __init__(self, trace: TraceSet, job: ReplayJob, bounds: Bounds) -> None:
        self._trace, self._job, self._bounds = trace, job, bounds
        self.rows: list[ReplayRow] = []

    def policy(
        self,
        name: str,
        policy: PolicySpec | PolicyFile,
        every: Candidates,
        advance: Callable[[int, str], None],
        paths: list[RequestPath],
    ) -> None:
        """Replay one policy; what the trace cannot tell becomes an ``unsupported`` row."""
        trace, job = self._trace, self._job
        try:
            candidates = policy_candidates(policy, trace, every, job)
            believed = (policy.cost_model() if isinstance(policy, PolicyFile) else None) or job.cost
            controller = build_controller(policy, candidates=candidates, cost=believed, strict=True)
        except AdaptiveDepthError as error:
            self.rows.append(self._unsupported(name, str(error)))
            return
        run = replay_dense(
            trace,
            controller,
            job.cost,
            job.options,
            watch=watched(trace),
            progress=lambda tokens: advance(tokens, ""),
        )
        paths.extend(paths_of(name, trace, run))
        self.rows.append(self._row(name, run, "policy"))

    def hindsight(self, ladder: Ladder) -> None:
        """Best static, best static per request, clairvoyant."""
        depth, window = ladder.best
        self.rows.append(self._row(f"best static ({depth}@{window})", self._bounds.best_static, "hindsight"))
        self.rows.append(self._row("best static per request", self._bounds.per_request, "hindsight"))
        if self._bounds.clairvoyant is not None:
            self.rows.append(self._row("clairvoyant", self._bounds.clairvoyant, "hindsight"))
        else:
            why = "the exact bound needs rounds of one request"
            self.rows.append(self._unsupported("clairvoyant", why, "hindsight"))

    def ladder(self, ladder: Ladder) -> None:
        """One row a static depth and window."""
        for (depth, window), run in ladder.runs.items():
            name = f"static:{depth}" if len(self._trace.windows) == 1 else f"static:{depth}@{window}"
            self.rows.append(self._row(name, run, "ladder"))

    def _row(self, name: str, run: Replayed, role: Role) -> ReplayRow:
        bounds, job = self._bounds, self._job
        rate, rounds = run.tokens_per_second, int(run.rounds.sum())
        best = bounds.best_static.tokens_per_second
        seer = None if bounds.clairvoyant is None else bounds.clairvoyant.tokens_per_second
        tokens, seconds = int(run.tokens.sum()), float(run.seconds.sum())
        interval = None if role == "ladder" else ratio_interval(run, bounds.best_static, seed=job.seed)
        coverage = run.known_rounds / rounds if rounds else 0.0
        exact = self._trace.evidence == "exact" and run.known_rounds == rounds
        idle = bounds.no_spec
        return ReplayRow(
            **self._common(name),
            rounds=rounds,
            tokens=tokens,
            seconds=seconds,
            tokens_per_second=rate,
            ms_per_token=1e3 * seconds / tokens if tokens else None,
            accept_length=tokens / rounds if rounds else None,
            mean_depth=int(run.depth_sum.sum()) / rounds if rounds else None,
            depth_histogram=run.depth_histogram,
            window_histogram=run.window_histogram,
            switches_per_1000=1000 * run.switches / run.group_rounds if run.group_rounds else None,
            vs_best_static=rate / best - 1,
            vs_best_static_per_request=rate / bounds.per_request.tokens_per_second - 1,
            vs_clairvoyant=None if seer is None else rate / seer - 1,
            gap_closed=None
            if seer is None or seer <= best * (1 + ROUNDING)
            else (rate - best) / (seer - best),
            speedup_vs_no_spec=None if idle is None else rate / idle.tokens_per_second - 1,
            ci95=interval,
            evidence="exact" if exact else "modelled",
            coverage=coverage,
            role=role,
            lanes=run.lanes,
            note=self._trace.note,
        )

    def _unsupported(self, name: str, why: str, role: Role = "policy") -> ReplayRow:
        return unsupported_row(self._common(name), why, role)

    def _common(self, name: str) -> dict[str, Any]:
        trace, job = self._trace, self._job
        return {
            "trace_set": trace.name,
            "origin": trace.origin,
            "cost": job.cost_name,
            "context": int(trace.context.mean()) if trace.requests else 0,
            "batch": job.options.batch,
            "lag": job.options.lag,
            "policy": name,
            "requests": trace.requests,
        }


def unsupported_row(common: dict[str, Any], why: str, role: Role) -> ReplayRow:
    """A row that says why there is no figure."""
    absent: dict[str, Any] = dict.fromkeys(
        (
            "seconds",
            "tokens_per_second",
            "ms_per_token",
            "accept_length",
            "mean_depth",
            "switches_per_1000",
            "vs_best_static",
            "vs_best_static_per_request",
            "vs_clairvoyant",
            "gap_closed",
            "speedup_vs_no_spec",
            "ci95",
        )
    )
    empty: dict[str, Any] = {
        "rounds": 0,
        "tokens": 0,
        "depth_histogram": {},
        "window_histogram": {},
        "lanes": 0,
    }
    return ReplayRow(**common, **absent, **empty, evidence="unsupported", coverage=0.0, role=role, note=why)
