"""``sglang-ema``: the rule SGLang 0.5.23 itself runs under ``--speculative-adaptive``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.group_state import GroupState
from adaptive_depth.policies.registry import register
from adaptive_depth.policies.sglang_ema_config import EmaSlot, SglangEmaConfig
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Plan, Reason, RoundResult
from adaptive_depth.traces.errors import ConfigError

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@register("sglang-ema", SglangEmaConfig)
class SglangEma:
    """A running mean of accepted drafts walks a ladder of depths, one ladder per range of batch sizes.

    Given the same rounds it takes the same steps as the stock class, faults included: it knows no cost, and a
    result is credited to the ladder's depth of *now*, not to the depth the round ran at, so a round drafted
    before a switch counts for the rung after it. The window stays the start window: stock never moves it. One
    difference lies outside the rule: stock feeds it rows of ended requests too, which a controller drops.

    >>> rule = SglangEma(SglangEmaConfig(adaptive={"1": {"candidate_steps": [1, 3]}}), Candidates())
    >>> rule.ladder_depths
    (1, 3)
    """

    uses_survival = False
    learns = True
    learns = True

    def __init__(self, config: SglangEmaConfig, candidates: Candidates) -> None:
        missing = sorted(set(config.depths) - set(candidates.depths))
        if missing:
            raise ConfigError(f"sglang-ema needs depths that are no candidates: {missing}")
        slots = config.slots
        self.ladder_depths = config.depths
        self._window = candidates.start_window
        self._floors = np.array(list(slots), np.int64)
        self._padding = np.array(sorted(config.cuda_graph_bs), np.int64)
        self._ladders = [_Ladder(slot, candidates.start_depth) for slot in slots.values()]

    def plan(self, batch: BatchView, estimates: Estimates) -> Plan:
        """Every group's depth on the ladder of its batch size."""
        groups = batch.groups
        depth, reason = np.empty(len(groups), np.int8), np.empty(len(groups), np.uint8)
        for ladder, who in self._routed(batch.rows_per_group):
            depth[who], reason[who] = ladder.plan(groups[who])
        return Plan(depth, np.full(len(batch.slot), self._window, np.int32), reason)

    def observe(self, result: RoundResult) -> None:
        """Feed every group's mean of accepted drafts to the ladder of its batch size."""
        view = result.rows
        rows = view.rows_per_group
        mean = view.sum(result.accepted.astype(np.int64)) / rows
        for ladder, who in self._routed(rows):
            ladder.observe(view.groups[who], mean[who])

    def _routed(self, rows: I64) -> list[tuple[_Ladder, Any]]:
        """The ladders in use, each with the groups (a slice or indices) whose batch size leads to it."""
        if not len(rows):
            return []
        slot = self._slot(rows)
        if slot.min() == slot.max():
            return [(self._ladders[slot[0]], slice(None))]
        return [(self._ladders[index], np.flatnonzero(slot == index)) for index in np.unique(slot)]

    def _slot(self, rows: I64) -> I64:
        """Index of the largest slot not above the batch size, or of the smallest one."""
        if len(self._padding):
            at = self._padding.searchsorted(rows)
            rows = np.where(
                at < len(self._padding), self._padding[np.minimum(at, len(self._padding) - 1)], rows
            )
        return np.maximum(self._floors.searchsorted(rows, side="right") - 1, 0)

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Nothing is kept by request."""

    def state_dict(self) -> dict[str, Any]:
        """Depth, running mean and count of every ladder and group."""
        return {"version": 1, "ladders": [ladder.state.state_dict() for ladder in self._ladders]}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value; another number of ladders is a ValueError."""
        for ladder, saved in zip(self._ladders, state["ladders"], strict=True):
            ladder.state.load_state(saved)


class _Ladder:
    """One slot's rule, for every group on its own.

    Thresholds rise along the ladder, so a walk rung by rung ends at the number of thresholds below the mean.
    """

    def __init__(self, slot: EmaSlot, start_depth: int) -> None:
        steps = slot.candidate_steps
        start = steps.index(start_depth) if start_depth in steps else len(steps) // 2
        self._slot = slot
        self._steps = np.array(steps, np.int8)
        below = np.array(steps[:-1], np.float64)
        self._down = (np.where(below == 0, 0.5, below - 0.5)) + slot.down_hysteresis
        self._up = (below - 0.5) + slot.up_hysteresis
        self.state = GroupState(rung=start, ema=float(steps[start] - 1), count=0, reason=int(Reason.WARMUP))

    def plan(self, groups: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], npt.NDArray[Any]]:
        """Depth and the reason of the last decision."""
        self.state.reserve(groups)
        return self._steps[self.state["rung"][groups]], self.state["reason"][groups]

    def observe(self, groups: npt.NDArray[Any], mean: F64) -> None:
        """Take one batch a group; decide where a decision is due."""
        state, slot = self.state, self._slot
        state.reserve(groups)
        drafting = self._steps[state["rung"][groups]] > 0
        ema = state["ema"][groups]
        # In this order of operations: the result is compared bit by bit with the stock class.
        ema = np.where(drafting, (1 - slot.ema_alpha) * ema + slot.ema_alpha * mean, ema)
        count = state["count"][groups] + 1
        state["ema"][groups], state["count"][groups] = ema, count
        due = (count > slot.warmup_batches) & ((count - slot.warmup_batches) % slot.update_interval == 0)
        if due.any():
            self._decide(groups[due], ema[due])

    def _decide(self, groups: npt.NDArray[Any], ema: F64) -> None:
        rung = self.state["rung"][groups]
        probing = self._steps[rung] == 0
        new = np.where(probing, np.minimum(1, len(self._steps) - 1), self._walk(rung, ema))
        never_drafted = probing & (self._steps[new] > 0) & (ema < 0)
        self.state["ema"][groups] = np.where(never_drafted, self._steps[new] - 1.0, ema)
        self.state["rung"][groups] = new
        self.state["reason"][groups] = self._reasons(rung, new, probing)

    def _walk(self, rung: I64, ema: F64) -> I64:
        """Down while the mean is at or below the threshold; if that moves nothing, up; then the ceiling."""
        lower = np.minimum(rung, self._down.searchsorted(ema))
        new = np.where(lower < rung, lower, np.maximum(rung, self._up.searchsorted(ema)))
        if self._slot.ceiling_coeff > 0:
            ceiling = np.maximum(1, np.ceil(ema * self._slot.ceiling_coeff))
            capped = np.maximum(self._steps.searchsorted(ceiling, side="right") - 1, 0)
            new = np.where(new <= rung, np.minimum(new, capped), new)
        return new

    def _reasons(self, old: I64, new: I64, probing: npt.NDArray[np.bool_]) -> I64:
        reason = np.where(new > old, Reason.DEEPEN, np.where(new < old, Reason.SHALLOWER, Reason.HOLD))
        reason[(new < old) & (self._steps[new] == 0)] = Reason.EXIT
        reason[probing & (new > old)] = Reason.PROBE
        return reason
