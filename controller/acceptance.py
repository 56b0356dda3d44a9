"""Online acceptance: a shared-frailty hazard model, per request, censored, shrunk to a learned pool.

A chain dies at its first rejection, so its length is a survival time over positions 1..K. :class:`HazardPool`
learns the hazard of every position; a request multiplies it by its frailty ``φ``: how much more often than
the pool expects this request's drafts are rejected.

* Every round, whatever its depth, informs ``φ`` at all positions at once, so a new request's level is known
  after a few rounds. Two memories, a slow one and a fast one shrunk to it, follow drift inside the request.
* Counts per request and position catch a request whose *shape* differs from the pool's.
* Censoring: a round of depth k with a accepted shows positions 1..min(a+1, k); only those update.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adaptive_depth.controller.drift_blend import DriftBlend
from adaptive_depth.controller.hazard_pool import HazardPool
from adaptive_depth.policies.running import running
from adaptive_depth.policies.types import BatchView, Candidates, RoundResult

F32 = npt.NDArray[np.float32]

#: Rounds gathered before the pool is worked out anew; the first few are worth more than the delay costs.
GATHER_ROUNDS, GATHER_ROWS, YOUNG_ROUNDS = 16, 256, 16
#: Rows updated together, so that what they need stays in a core's cache.
ROWS_TOGETHER = 2048
#: Columns of a request's state before the 2·K position counts.
#: failures, failures expected of the pool, and frailty, each for the slow and the fast memory.
FAILED, EXPECTED, FRAILTY, COUNTS = slice(0, 2), slice(2, 4), slice(4, 6), 6
ONE, LEAST, TICK = np.float32(1.0), np.float32(0.01), np.uint8(1)


class SurvivalEstimator(Protocol):
    """Anything that turns rounds into survival curves."""

    def survival(self, batch: BatchView) -> F32:
        """P(at least j+1 drafts accepted) per row, candidate window and position, f32[R, W, K]."""

    def window_bonus(self, batch: BatchView) -> F32 | None:
        """Benefit of the doubt of little tried windows, a share of tokens, f32[R, W]; None with one."""

    def observe(self, result: RoundResult) -> None:
        """Learn from a round."""

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Drop these slots' requests."""

    def state_dict(self) -> dict[str, Any]:
        """State as plain arrays."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceConfig:
    """Parameters of :class:`AcceptanceEstimator`: decays a round, weights in expected failures or exposures.

    The defaults were chosen on recordings of one 135M MTP model, on no public set.
    """

    slow_decay: float = 0.99
    fast_decay: float = 0.80
    slow_weight: float = 16.0
    fast_weight: float = 2.0
    position_decay: float = 0.99
    position_weight: float = 25.0
    pool_decay: float = 0.9995
    pool_weight: float = 20.0
    prior_failure: float = 0.35
    optimism: float = 0.95
    curiosity: float = 0.8

    def __post_init__(self) -> None:
        for name in (
            "slow_decay",
            "fast_decay",
            "position_decay",
            "pool_decay",
            "optimism",
        ):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in (0, 1], got {getattr(self, name)}")
        for name in ("slow_weight", "fast_weight", "position_weight", "pool_weight"):
            if not 0.0 < getattr(self, name) <= 1e6:
                raise ValueError(f"{name} must be in (0, 1e6], got {getattr(self, name)}")
        if not 0.0 < self.prior_failure < 1.0:
            raise ValueError(f"prior_failure must be in (0, 1), got {self.prior_failure}")


class AcceptanceEstimator:
    """Survival of a chain for every request; see the module for the model.

    >>> candidates = Candidates(depths=(0, 1, 2), start_depth=1)
    >>> batch = BatchView(*(np.zeros(1, np.int32),) * 2, *(np.zeros(1, np.int64),) * 2, one_row_each=True)
    >>> AcceptanceEstimator(candidates).survival(batch).round(2).tolist()
    [[[0.6499999761581421, 0.4300000071525574]]]
    """

    def __init__(self, candidates: Candidates, config: AcceptanceConfig | None = None) -> None:
        self._config = cfg = config or AcceptanceConfig()
        # Depth 0 alone leaves nothing to estimate; the first draft's place is kept, so that shapes hold.
        self._k_max, self._windows = max(1, candidates.k_max), candidates.window_array
        self._order = np.argsort(self._windows)
        self._pool = HazardPool(
            len(self._windows),
            self._k_max,
            prior=cfg.prior_failure,
            optimism=cfg.optimism,
            weight=cfg.pool_weight,
            decay=cfg.pool_decay,
        )
        self._drift = DriftBlend()
        self._gathered: list[tuple[npt.NDArray[Any], ...]] = []
        self._rounds = 0
        self._new = np.zeros(COUNTS + 2 * self._k_max, np.float32)
        # Each weight stands in the state as a count that does not fade, so that no step has to add it.
        self._new[FAILED] = cfg.slow_weight, 0.0
        self._new[EXPECTED] = cfg.slow_weight, cfg.fast_weight
        self._new[FRAILTY] = 1.0
        self._new[COUNTS + self._k_max :] = cfg.position_weight
        fade, self._gain, self._seen = self._tables()
        self._outcomes, self._whole = np.intp(len(fade)), np.uint8(2 * self._k_max)
        self._fades = np.tile(fade, (self._pool.cells, 1))
        self._tabulate()
        self._state = np.tile(self._new, (64, 1))

    def _tables(self) -> tuple[F32, F32, F32]:
        """Factor, addend and reached positions by outcome: f32[2K+1, 6 + 2K] twice, f32[2K+1, K].

        Outcome ``2a + 1`` is a rejection after ``a`` drafts, ``2k`` a chain of k that was accepted whole. A
        round that reached nothing (depth 0) changes nothing.
        """
        k, cfg = self._k_max, self._config
        outcome, position = np.arange(2 * k + 1)[:, None], np.arange(k)
        reached, rejected = _ended(outcome)
        fade = np.full((2 * k + 1, COUNTS + 2 * k), cfg.slow_decay, np.float32)
        fade[:, [1, 3]] = cfg.fast_decay
        fade[:, COUNTS:] = cfg.position_decay
        fade[0] = 1.0
        gain = (1.0 - fade) * self._new
        gain[:, FAILED] += rejected
        gain[:, COUNTS : COUNTS + k] += rejected * (position == reached - 1)
        return fade, gain, (position < reached).astype(np.float32)

    def _tabulate(self) -> None:
        """What a round adds to a request's state, and the rejections expected of it, by cell and outcome.

        Worked out once for all rows: the pool changes far less often than requests do.
        """
        k = self._k_max
        shown = self._pool.hazard.reshape(-1, 1, k) * self._seen
        expected = np.add.reduce(shown, axis=-1)
        steps = np.tile(self._gain, (len(shown), 1, 1))
        steps[..., EXPECTED] += expected[..., None]
        steps[..., COUNTS + k :] += shown
        self._steps, self._expected = steps.reshape(-1, steps.shape[-1]), expected.ravel()
        self._trust = self._drift.weights * np.float32(self._config.position_weight)

    def survival(self, batch: BatchView) -> F32:
        """P(at least j+1 drafts accepted), f32[R, W, K]."""
        state, k = self._rows(batch.slot), self._k_max
        failed = (state[:, FRAILTY] @ self._trust)[:, None] + state[:, COUNTS : COUNTS + k]
        failed /= state[:, COUNTS + k :]
        keep = self._pool.hazard.take(self._pool.band(batch.context), axis=0)
        keep *= failed[:, None, :]
        np.subtract(ONE, keep, out=keep)
        np.maximum(keep, LEAST, out=keep)
        return running(np.multiply, keep, in_place=True)

    def window_bonus(self, batch: BatchView) -> F32 | None:
        """The doubt about each window, a few standard errors of it; the same for every row."""
        if len(self._windows) == 1:
            return None
        return np.broadcast_to(
            self._config.curiosity * self._pool.doubt, (len(batch.slot), len(self._windows))
        )

    def observe(self, result: RoundResult) -> None:
        """Learn from a round; rows of depth 0 teach nothing."""
        accepted, depth = result.accepted.view(np.uint8), result.depth.view(np.uint8)  # twice 127 fits
        if not np.count_nonzero(depth):
            return
        cell = self._pool.cell(result.context, self._window_index(result.window))
        outcome = np.minimum(np.minimum(accepted + accepted + TICK, depth + depth), self._whole)
        outcome = outcome + cell * self._outcomes
        if len(cell) <= ROWS_TOGETHER:
            frailty = self._update(result.slot, outcome)
        else:
            cuts = range(ROWS_TOGETHER, len(cell), ROWS_TOGETHER)
            parts = zip(np.split(result.slot, cuts), np.split(outcome, cuts), strict=True)
            frailty = np.concatenate([self._update(slot, what) for slot, what in parts])
        self._gather(outcome, frailty)

    def _update(self, slot: npt.NDArray[Any], outcome: npt.NDArray[Any]) -> F32:
        """Bring the slots' state up to date; return their frailty before, f32[R, 2]."""
        state = self._rows(slot)
        frailty: F32 = state[:, FRAILTY].copy()
        state *= self._fades.take(outcome, axis=0)
        state += self._steps.take(outcome, axis=0)
        self._judge(state)
        self._state[slot] = state
        return frailty

    def _gather(self, *rows: npt.NDArray[Any]) -> None:
        """Keep a round for the pool; work the pool out once enough has come together."""
        self._gathered.append(rows)
        self._rounds += 1
        many = len(self._gathered) >= GATHER_ROUNDS or len(rows[0]) * len(self._gathered) >= GATHER_ROWS
        if many or self._rounds <= YOUNG_ROUNDS:
            self._pool_gathered()

    def _pool_gathered(self) -> None:
        if not self._gathered:
            return
        rounds = len(self._gathered)
        outcome, frailty = (np.concatenate(part) for part in zip(*self._gathered, strict=True))
        self._gathered.clear()
        cell, ending = np.divmod(outcome, self._outcomes)
        reached, rejected = _ended(ending)
        expected = self._expected.take(outcome)
        self._pool.add(cell, reached, rejected, frailty @ self._drift.weights, rounds)
        self._drift.add(rejected, expected, frailty, rounds)
        self._tabulate()

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Drop these slots' requests; the pool keeps what they taught."""
        known = slots[slots < len(self._state)]
        self._state[known] = self._new

    def _rows(self, slots: npt.NDArray[Any]) -> F32:
        """The slots' state, ``[R, 6 + 2K]`` (a copy); makes room for slots not seen before."""
        try:
            rows: F32 = self._state.take(slots, axis=0)
        except IndexError:
            missing = int(slots.max()) + 1 - len(self._state)
            self._state = np.concatenate([self._state, np.tile(self._new, (missing + len(self._state), 1))])
            rows = self._state.take(slots, axis=0)
        return rows

    def _judge(self, state: F32) -> None:
        """Write both memories' frailty: how much more often than the pool expects a request is rejected."""
        slow = state[:, 0] / state[:, 2]
        state[:, 4] = slow
        slow = slow * np.float32(self._config.fast_weight)
        slow += state[:, 1]
        slow /= state[:, 3]
        state[:, 5] = slow

    def _window_index(self, window: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Index of each row's window among the candidates; any other counts as the nearest one above."""
        if len(self._windows) == 1:
            return np.zeros(len(window), np.intp)
        ordered = self._windows[self._order]
        return self._order[np.minimum(np.searchsorted(ordered, window), len(ordered) - 1)]

    def state_dict(self) -> dict[str, Any]:
        """State as plain arrays; version 1."""
        self._pool_gathered()
        return {
            "version": 1,
            "requests": self._state.copy(),
            "rounds": self._rounds,
            "pool": self._pool.state_dict(),
            "drift": self._drift.state_dict(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value; another version or shape is a ValueError."""
        requests = np.asarray(state["requests"], np.float32)
        if state.get("version") != 1 or requests.ndim != 2 or requests.shape[1] != self._state.shape[1]:
            raise ValueError("acceptance state of another version or shape")
        self._gathered.clear()
        self._state, self._rounds = requests.copy(), int(state["rounds"])
        self._pool.load_state(state["pool"])
        self._drift.load_state(state["drift"])
        self._tabulate()


def _ended(outcome: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Chain positions reached, and whether the last of them was a rejection (1 or 0)."""
    return (outcome + 1) // 2, outcome % 2
