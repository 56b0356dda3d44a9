"""Simulates models on one draw of luck and moves their thresholds until acceptance by position fits."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from adaptive_depth.sim.synth_target import Observation, Target
from adaptive_depth.traces.records import F64
from adaptive_depth.traces.synth import SynthModel, WindowEffect, accepted_counts, draw_noise

#: Drafts at the pooled rate that a request's own count is shrunk by before it becomes its level score; a
#: threshold reached as often as this moves half as far.
SHRINK_DRAFTS = 20.0
#: Limit of a threshold in probit units: beyond it a draft always or never passes.
EDGE = 5.0
#: Probits of acceptance that one unit of log accept length is worth; see :func:`coordinates`.
LENGTH_WEIGHT = 15.0

_NORMAL = NormalDist()


def probit(share: F64) -> F64:
    """Normal quantile of shares in 0..1, within ± 4.75.

    >>> probit(np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [-4.75, 0.0, 4.75]
    """
    return np.array([_NORMAL.inv_cdf(min(max(p, 1e-6), 1 - 1e-6)) for p in share.tolist()])


def coordinates(seen: Observation) -> F64:
    """What each threshold has to meet, [K]: acceptance at its position, and the accept length up to it.

    Acceptance alone leaves the accept length a few percent off (a twin's rounds start elsewhere); accept
    lengths alone make the thresholds jump, because each is a small difference of two large numbers.
    """
    return probit(seen.conditional) + LENGTH_WEIGHT * np.log(seen.length)


def request_scores(target: Target) -> F64:
    """Level score by request, [R]: probit of its shrunk share of accepted drafts, less the pooled one."""
    rounds = target.observed.rounds
    requests = len(rounds.start) - 1
    row = np.repeat(np.arange(requests), np.diff(rounds.start))
    passed = np.bincount(row, rounds.accepted, requests)
    tried = np.bincount(row, np.minimum(rounds.accepted + 1, rounds.depth), requests)
    pool = passed.sum() / max(tried.sum(), 1.0)
    share = (passed + SHRINK_DRAFTS * pool) / (tried + SHRINK_DRAFTS)
    return probit(share) - probit(np.array([pool]))


class Bench:
    """One draw of luck for the requests of a target, or for ``copies`` of them."""

    def __init__(self, target: Target, rng: np.random.Generator, copies: int = 1) -> None:
        """Draw the luck from ``rng``."""
        self.target = target
        length = np.tile(target.output_tokens, copies)
        self._score = np.tile(request_scores(target), copies)
        self._noise = draw_noise(rng, length, target.k_max)
        self._start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)

    def observe(self, model: SynthModel) -> list[Observation]:
        """What every window of ``model`` shows."""
        counts = accepted_counts(model, self._noise, self._score)
        return [self.target.observe(row, self._start) for row in counts]

    def settle(self, model: SynthModel, passes: int) -> tuple[SynthModel, Observation]:
        """Move the thresholds ``passes`` times towards the target's acceptance; what the last model shows."""
        for _ in range(passes):
            (seen,) = self.observe(model)
            step = _missing(seen, self.target.observed)
            thresholds = (np.array(model.thresholds) + step).clip(-EDGE, EDGE)
            model = replace(model, thresholds=tuple(thresholds.tolist()))
        return model, self.observe(model)[0]

    def settle_window(
        self, model: SynthModel, effect: WindowEffect, wanted: Observation, passes: int
    ) -> WindowEffect:
        """Move ``effect`` until it differs from ``model`` at full context as ``wanted`` from the target."""
        (full,) = self.observe(model)
        difference = coordinates(wanted) - coordinates(self.target.observed)
        for _ in range(passes):
            (seen,) = self.observe(replace(model, windows=(effect,)))
            missing = difference - coordinates(seen) + coordinates(full)
            shift = np.array(effect.shift) + missing * _step_size(seen, wanted)
            changed = effect.changed * unlike(wanted, self.target.observed) / max(unlike(seen, full), 1e-9)
            effect = replace(effect, shift=tuple(shift.clip(-EDGE, EDGE).tolist()), changed=min(changed, 1.0))
        return effect


def _missing(seen: Observation, wanted: Observation) -> F64:
    """How far each threshold has to move, [K]: the coordinate's distance over its slope (Newton)."""
    return (coordinates(wanted) - coordinates(seen)) * _step_size(seen, wanted)


def _step_size(seen: Observation, wanted: Observation) -> F64:
    """One over the coordinates' slope in their own threshold, and less where few drafts were reached."""
    survival = np.concatenate([[1.0], np.cumprod(seen.conditional)[:-1]])
    density = np.exp(-(probit(seen.conditional) ** 2) / 2) / math.sqrt(2 * math.pi)
    slope = 1 + LENGTH_WEIGHT * (seen.length > 1) * survival * density / seen.length
    reached = np.minimum(seen.reached, wanted.reached)
    size: F64 = reached / (reached + SHRINK_DRAFTS) / slope
    return size


def unlike(one: Observation, other: Observation) -> float:
    """Share of positions whose accepted count differs between two windows of a dense trace."""
    assert one.counts is not None and other.counts is not None, "windows are only fitted to dense traces"
    return float((one.counts != other.counts).mean())
