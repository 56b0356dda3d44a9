"""Fits the synthetic generator to a recorded trace by simulating and comparing on common random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_depth.sim.simplex import minimise
from adaptive_depth.sim.synth_bench import Bench, probit, request_scores, unlike
from adaptive_depth.sim.synth_target import Observation, Target
from adaptive_depth.traces.records import F64
from adaptive_depth.traces.synth import SynthModel, WindowEffect

#: One residual unit of each of a target's moments.
TOLERANCE = np.array([0.01, 0.01, 0.03, 0.05, 0.05, 0.04])
#: The same for the accept length at the depth where it is furthest off, relative.
LENGTH_TOLERANCE = 0.01
#: What is searched: log level spread, log drift spread, log forgetting per token, logit of sharing.
#: Rounds never draft a token twice, so a rounds trace says nothing of sharing and keeps the start, which
#: is 0.9 as in dense EAGLE traces.
START = np.array([0.0, -1.0, -2.5, 2.2])
LOWER = np.array([-4.0, -4.0, -7.0, 1.1])
UPPER = np.array([1.5, 2.0, -0.1, 8.0])
#: First steps of the search. Counts are whole numbers, so the misfit moves in jumps: a simplex, not
#: derivatives.
SPREAD = np.array([0.4, 0.4, 0.6, 0.6])
#: Corrections of the thresholds while searching, and at the end.
ROUGH, FINE = 2, 6
#: Positions simulated for the last corrections, at least, where the trace has fewer.
FINE_SIZE = 250_000
#: Weight of the distance from the start: decides only what the trace says nothing of.
PULL = 0.05


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted generator: the model and the level score of every request it was fitted to."""

    model: SynthModel
    score: F64


def fit(target: Target, rng: np.random.Generator, evaluations: int = 50) -> Fit:
    """Fit the generator to ``target``; the same fit for the same seed of ``rng``.

    Four numbers are searched so that the moments agree (level and drift spread, drift memory, sharing);
    for each try the thresholds are moved until acceptance by position agrees.
    """
    search = _Search(Bench(target, rng))
    found = search.model(minimise(search.misfit, search.start(), SPREAD[search.free], evaluations, 0.02))
    # One draw's luck would stay in the thresholds as a bias: the last word is an average over several.
    copies = max(1, FINE_SIZE // int(target.output_tokens.sum()))
    settled, _ = Bench(target, rng, copies).settle(found, FINE)
    return Fit(settled, request_scores(target))


def fit_windows(
    model: SynthModel, target: Target, windows: Sequence[tuple[int, Observation]], rng: np.random.Generator
) -> list[WindowEffect]:
    """The effects of further windows, given as (window, observation), on a ``model`` fitted to ``target``."""
    bench = Bench(target, rng)
    effects = []
    for window, seen in windows:
        changed = unlike(seen, target.observed)
        blank = WindowEffect(window=window, shift=(0.0,) * target.k_max, changed=changed)
        effects.append(bench.settle_window(model, blank, seen, FINE))
    return effects


class _Search:
    """Residuals of the moments as a function of the numbers searched."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._wanted = bench.target.observed
        self.free = slice(0, 4 if bench.target.dense else 3)
        #: Thresholds of the last try: the next one starts where it ended.
        self._thresholds = tuple(probit(self._wanted.conditional).tolist())

    def misfit(self, x: F64) -> float:
        """How far off the moments are: it grows evenly, so that one out of reach spoils no other."""
        model, seen = self._bench.settle(self.model(x), ROUGH)
        self._thresholds = model.thresholds
        moments = np.nan_to_num((seen.moments - self._wanted.moments) / TOLERANCE)
        lengths = np.log(seen.length / self._wanted.length) / LENGTH_TOLERANCE
        miss = np.append(moments, np.abs(lengths).max())
        return float(np.sqrt(1 + miss**2).sum() + PULL * ((x - START[self.free]) ** 2).sum())

    def start(self) -> F64:
        """Where to begin: weak or strong drift, short or long, whichever is nearest."""
        tries = [
            START + np.array([0.0, drift, memory, 0.0]) for drift in (0.0, 1.7) for memory in (0.0, -1.4)
        ]
        return min((x[self.free] for x in tries), key=self.misfit)

    def model(self, x: F64) -> SynthModel:
        """The model at ``x``, or at the nearest point within limits, with the thresholds of the last try."""
        at = START.copy()
        at[self.free] = x
        at = at.clip(LOWER, UPPER)
        return SynthModel(
            thresholds=self._thresholds,
            level_sd=float(np.exp(at[0])),
            drift_sd=float(np.exp(at[1])),
            drift_memory=float(1 - np.exp(at[2])),
            sharing=float(1 / (1 + np.exp(-at[3]))),
        )
