"""Learns the cost of a round from measured rounds while the server runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.controller.nonnegative import nonnegative
from adaptive_depth.policies.cost_model import COEFFICIENTS, LinearCost, Load, round_features
from adaptive_depth.traces.errors import ConfigError

F64 = npt.NDArray[np.float64]

#: A middling server, for a start without any better prior; its scale is corrected by the first rounds.
GENERIC_PRIOR = LinearCost(
    v0=8e-3, v1=2e-4, v2=3e-9, v3=3e-10, spec=1e-3, x1=2e-4, x2=1e-9, x3=1e-6, f0=6e-4, f1=2e-5, f2=3e-10
)
#: Rounds between two fits: while the window fills, and after.
FIRST_ROUNDS, REFIT_ROUNDS = 16, 32
#: Rounds that are judged again at every fit before they pass into memory.
WINDOW_ROUNDS = 128
#: No engine runs a round faster.
MIN_SECONDS = 1e-6
#: Groups taken from one call; a replay has thousands and all tell the same.
MAX_GROUPS = 32
#: A round this many times quicker than predicted, against the median, is a fault of the clock.
TOO_FAST = 8.0
#: Relative miss of the window's median from which memory is taken as another server's.
CHANGED = 0.1
_STATE_VERSION = 1
_F = len(COEFFICIENTS)
#: Private arrays that make up the state. Rounds not yet fitted are left behind.
_ARRAYS = ("window", "sound", "gram", "moment", "current")


def _median(values: F64) -> float:
    """The upper median; numpy's own takes 25 ms at its first call and ten times as long ever after."""
    return float(np.sort(values)[len(values) // 2])


class OnlineCost:
    """Recursive non-negative fit of :class:`LinearCost`, robust to stalls, for servers that time rounds.

    What is minimised is the sum of (1 - predicted / measured)², so a stall of any length weighs no more
    than one round; rounds far from the median of the last :data:`WINDOW_ROUNDS` are left out altogether.
    A round leaves that window for a discounted memory. The fit is drawn towards the prior, scaled to the
    measured level, with the weight of ``prior_rounds``: that decides whatever the rounds cannot tell
    apart (one batch size, one context), and prices depths never played.

    >>> online = OnlineCost(GENERIC_PRIOR)
    >>> one = np.ones(1)
    >>> for _ in range(64):
    ...     online.observe(Load(one, 1000 * one, 1000 * one, 1000 * one), np.array([3]), np.array([0.005]))
    >>> online.cost.seconds(Load(one, 1000 * one, 1000 * one, 1000 * one), np.array([3])).round(4).tolist()
    [[0.005]]
    """

    learns = True

    def __init__(
        self, prior: LinearCost = GENERIC_PRIOR, half_life_rounds: float = 1000.0, prior_rounds: float = 0.1
    ) -> None:
        """Start from ``prior``, whose flags are kept; memory halves its weight every
        ``half_life_rounds``.
        """
        self._prior = np.array([getattr(prior, name) for name in COEFFICIENTS], np.float64)
        self._prior[0] += prior.host
        self._flags = {"extend_windowed": prior.extend_windowed, "extend_at_zero": prior.extend_at_zero}
        self._keep, self._prior_rounds = 0.5 ** (1 / half_life_rounds), prior_rounds
        #: Rounds not yet fitted: rows, context, extend, reads, depth, seconds.
        self._fresh = np.zeros((REFIT_ROUNDS, 6))
        self._fresh_count = 0
        #: Features over seconds of the last rounds, and whether each was taken as sound.
        self._window = np.zeros((0, _F))
        self._sound = np.zeros(0)
        self._gram, self._moment = np.zeros((_F, _F)), np.zeros(_F)
        self._current = self._prior.copy()
        self._cost = prior
        #: Rounds that were used in a fit, and those of them that were last judged to be stalls.
        self.rounds, self.outliers = 0, 0

    @property
    def cost(self) -> LinearCost:
        """The model as last fitted; the prior before the first :data:`FIRST_ROUNDS` rounds."""
        return self._cost

    def observe(self, load: Load, depth: npt.NDArray[Any], seconds: npt.NDArray[Any]) -> None:
        """Take measured rounds, all ``[G]``; seconds that are NaN, infinite or below a microsecond are no
        samples.
        """
        if seconds.size == 1:
            if MIN_SECONDS <= seconds.item() < np.inf:
                values = (load.rows, load.context, load.extend, load.reads, depth, seconds)
                self._take([value.item() for value in values])
            return
        step = max(1, -(-len(seconds) // MAX_GROUPS))
        columns = (load.rows, load.context, load.extend, load.reads, depth, seconds)
        some = np.stack([np.broadcast_to(column, seconds.shape)[::step] for column in columns], axis=1)
        for row in some[np.isfinite(some).all(axis=1) & (some[:, 5] >= MIN_SECONDS)]:
            self._take(row)

    def _take(self, row: npt.ArrayLike) -> None:
        self._fresh[self._fresh_count] = row
        self._fresh_count += 1
        if self._fresh_count >= (FIRST_ROUNDS if self.rounds < WINDOW_ROUNDS else REFIT_ROUNDS):
            self._refit()

    def _refit(self) -> None:
        """Move the fresh rounds into the window, the oldest into memory, and fit."""
        rows, context, extend, reads, depth, seconds = self._fresh[: self._fresh_count].T
        load = Load(rows, context, extend, reads)
        fresh = round_features(load, depth, self._flags["extend_at_zero"]) / seconds[:, None]
        self.rounds += self._fresh_count
        self._remember(max(len(self._window) + self._fresh_count - WINDOW_ROUNDS, 0))
        self._fresh_count = 0
        self._window = np.concatenate([self._window, fresh])
        # A wrong model must not reject what it cannot explain: fit everything, then judge by that.
        self._sound = self._not_too_fast()
        self._solve()
        self._judge()
        self._solve()
        self._follow()
        self._cost = self._as_cost()

    def _remember(self, count: int) -> None:
        """Fold the ``count`` oldest rounds of the window into the discounted memory, without the stalls."""
        old, sound = self._window[:count], self._sound[:count]
        self._window = self._window[count:]
        self.outliers += int(count - sound.sum())
        keep = self._keep**count
        self._gram = self._gram * keep + (old * sound[:, None]).T @ old
        self._moment = self._moment * keep + sound @ old

    def _not_too_fast(self) -> F64:
        """All but rounds far quicker than predicted, the one kind of fault that the loss does not bound."""
        ratio = self._window @ self._current
        return (ratio < TOO_FAST * _median(ratio)).astype(np.float64)

    def _judge(self) -> None:
        """Mark the rounds of the window near its median, on a log scale, as sound."""
        miss = np.log(np.maximum(self._window @ self._current, 1e-300))
        miss -= _median(miss)
        spread = 1.4826 * _median(np.abs(miss))
        self._sound = (np.abs(miss) <= max(4 * spread, 0.25)).astype(np.float64)

    def _follow(self) -> None:
        """Where the whole window is off, the server has changed: memory takes its level at half weight."""
        level = _median(self._window @ self._current)
        if abs(level - 1) > CHANGED and level > 0:
            self._gram *= level**2 / 2
            self._moment *= level / 2
            self._solve()

    def _solve(self) -> None:
        """Fit memory, window and prior; every coefficient is weighed by what it contributes to a round."""
        sound = self._window * self._sound[:, None]
        gram, moment = self._gram + sound.T @ self._window, self._moment + sound.sum(axis=0)
        energy = gram.diagonal()
        size = np.where(energy > 0, np.sqrt(energy), 1.0)
        level = (self._prior @ moment) / max(self._prior @ gram @ self._prior, 1e-300)
        target = self._prior * (level if level > 0 else 1.0) * size
        rounds = self._sound.sum() + 1.0
        pull = np.where(energy > 0, self._prior_rounds / rounds, 1.0)
        matrix = gram / np.outer(size, size) + np.diag(pull)
        x = nonnegative(matrix, moment / size + pull * target, self._current > 0)
        self._current = x / size

    def state_dict(self) -> dict[str, Any]:
        """What was learned, as plain arrays and numbers."""
        arrays = {name: np.copy(getattr(self, "_" + name)) for name in _ARRAYS}
        counts = {"rounds": self.rounds, "outliers": self.outliers}
        return {"version": _STATE_VERSION, "coefficients": COEFFICIENTS, **counts, **arrays}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value; :class:`ConfigError` for the state of another release."""
        if state.get("version") != _STATE_VERSION or tuple(state.get("coefficients", ())) != COEFFICIENTS:
            raise ConfigError(f"cost state is of version {state.get('version')!r}, not {_STATE_VERSION}")
        for name in _ARRAYS:
            setattr(self, "_" + name, np.array(state[name], np.float64))
        self.rounds, self.outliers, self._fresh_count = int(state["rounds"]), int(state["outliers"]), 0
        self._cost = self._as_cost() if self.rounds else self._cost

    def _as_cost(self) -> LinearCost:
        named = dict(zip(COEFFICIENTS, self._current.tolist(), strict=True))
        named["v0"] = max(named["v0"], 1e-6)  # a round takes time, whatever the fit says
        return LinearCost(**named, **self._flags)
