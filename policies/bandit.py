"""``bandit``: discounted UCB over (depth, window) arms, tokens and seconds kept apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.group_state import GroupState
from adaptive_depth.policies.registry import register
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Load, Plan, Reason, RoundResult

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BanditConfig:
    """Parameters of :class:`Bandit`.

    ``exploration`` scales the confidence width, ``discount`` is what a round is still worth a round later,
    ``dwell`` is for how many rounds an arm is kept: at most 1,000 / ``dwell`` switches in 1,000 rounds.
    """

    exploration: float = 0.25
    discount: float = 0.99
    dwell: int = 8

    def __post_init__(self) -> None:
        if not 0.0 <= self.exploration <= 100.0:
            raise ValueError(f"exploration must be in [0, 100], got {self.exploration}")
        if not 0.0 < self.discount < 1.0:
            raise ValueError(f"discount must be between 0 and 1, got {self.discount}")
        if self.dwell < 1:
            raise ValueError(f"dwell must be at least 1, got {self.dwell}")


@register("bandit", BanditConfig)
class Bandit:
    """Play the arm with the highest bound on tokens over seconds, a ratio of sums, never a mean of ratios.

    Feedback cascades: a round at depth k that accepted a tells for every k' <= k what k' would have
    accepted, exactly min(a, k'), so one play credits every shallower arm of its window; what deeper arms
    would have done it does not tell, and they are tried because their bound widens as old rounds fade. An
    arm's seconds are the cost model's price of one round and those measured while it ran. No randomness: the
    same rounds give the same plans.

    >>> Bandit(BanditConfig(), Candidates(windows=(0, 4032))).arms
    12
    """

    uses_survival = False
    learns = True
    learns = True

    def __init__(self, config: BanditConfig, candidates: Candidates) -> None:
        self._config, self._candidates = config, candidates
        self._depths, self._windows = candidates.depth_array, candidates.window_array
        self._range = self._depths.astype(np.float64)
        shape = (len(self._windows), len(self._depths))
        self.arms = shape[0] * shape[1]
        start = candidates.windows.index(candidates.start_window) * shape[1] + candidates.start_index
        zeros = np.zeros(shape)
        self._state = GroupState(
            arm=start,
            left=config.dwell,
            rows=zeros,
            tokens=zeros,
            rounds=zeros,
            seconds=zeros,
            reason=int(Reason.WARMUP),
        )

    def plan(self, batch: BatchView, estimates: Estimates) -> Plan:
        """Keep the arm while it dwells, then take the one of the highest bound."""
        groups, state = batch.groups, self._state
        state.reserve(groups)
        left = state["left"][groups]
        due = left <= 0
        if due.any():
            price = estimates.cost.seconds(self._load(batch, estimates), self._depths)
            self._choose(groups[due], price[due])
            left = np.where(due, self._config.dwell, left)
        state["left"][groups] = left - 1
        window, depth = np.divmod(state["arm"][groups], len(self._depths))
        reason = state["reason"][groups].astype(np.uint8)
        return Plan(self._depths[depth], batch.spread(self._windows[window]), reason)

    def _load(self, batch: BatchView, estimates: Estimates) -> Load:
        """The groups' load with every request at the same window, ``[G, W]``."""
        rows, context = batch.rows_per_group[:, None], batch.sum(batch.context)[:, None]
        reads = batch.sum(self._candidates.reads(batch.context))
        return Load(rows, context, reads if estimates.cost.extend_windowed else context, reads)

    def _choose(self, groups: npt.NDArray[Any], price: F64) -> None:
        state, depths = self._state, len(self._depths)
        rate = self._bound(groups) / self._seconds(groups, price)
        new, old = rate.reshape(len(groups), -1).argmax(axis=1), state["arm"][groups]
        step = self._depths[new % depths].astype(np.int64) - self._depths[old % depths]
        reason = np.where(step > 0, Reason.DEEPEN, np.where(step < 0, Reason.SHALLOWER, Reason.HOLD))
        reason[(step < 0) & (self._depths[new % depths] == 0)] = Reason.EXIT
        state["arm"][groups], state["reason"][groups] = new, reason

    def _bound(self, groups: npt.NDArray[Any]) -> F64:
        """Upper bound on a row's tokens a round by arm, ``[G, W, D]``; untried ones may accept all."""
        rows = self._state["rows"][groups]
        tried, most = np.maximum(rows, 1e-9), self._range + 1.0
        seen = rows.max(axis=(1, 2), keepdims=True)
        width = 0.5 * self._range * np.sqrt(np.log1p(seen) / tried)
        mean = self._state["tokens"][groups] / tried
        return np.where(rows > 0, np.minimum(mean + self._config.exploration * width, most), most)

    def _seconds(self, groups: npt.NDArray[Any], price: F64) -> F64:
        """Mean of the seconds measured on each arm and one round at the model's price, ``[G, W, D]``."""
        mean: F64 = (self._state["seconds"][groups] + price) / (self._state["rounds"][groups] + 1.0)
        return mean

    def observe(self, result: RoundResult) -> None:
        """Fade what is known of the groups present, then credit every arm this round tells of."""
        view, state = result.rows, self._state
        groups = view.groups
        state.reserve(groups)
        told = self._depths <= result.depth[:, None]
        tokens = np.where(told, np.minimum(self._range, result.accepted[:, None]) + 1.0, 0.0)
        rows, tokens = self._by_arm(view, result.window, told), self._by_arm(view, result.window, tokens)
        state["rows"][groups] = state["rows"][groups] * self._config.discount + rows
        state["tokens"][groups] = state["tokens"][groups] * self._config.discount + tokens
        self._time(groups, result)

    def _by_arm(self, view: BatchView, window: npt.NDArray[Any], credit: npt.NDArray[Any]) -> F64:
        """Sum ``credit[R, D]`` over each group's rows by window, ``[G, W, D]``; no other window counts."""
        at = window[:, None] == self._windows
        return view.sum(np.where(at[:, :, None], credit[:, None, :], 0.0))

    def _time(self, groups: npt.NDArray[Any], result: RoundResult) -> None:
        """Credit measured seconds to the arm that ran; those that are no sample only let old ones fade."""
        state, first = self._state, result.rows.starts
        state["rounds"][groups] *= self._config.discount
        state["seconds"][groups] *= self._config.discount
        depth, window = result.depth[first], result.window[first]
        d, w = self._depths.searchsorted(depth), (window[:, None] == self._windows).argmax(axis=1)
        known = np.isfinite(result.seconds) & np.isin(depth, self._depths) & np.isin(window, self._windows)
        who = groups[known]
        state["rounds"][who, w[known], d[known]] += 1.0
        state["seconds"][who, w[known], d[known]] += result.seconds[known]

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Nothing is kept by request."""

    def state_dict(self) -> dict[str, Any]:
        """Arm, dwell and discounted sums by group."""
        return {"version": 1, "groups": self._state.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""
        self._state.load_state(state["groups"])
