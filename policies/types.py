"""The rows a rule sees and the plan it returns (struct of arrays, one row a request).

R = rows (requests in flight), G = groups present (requests that share a round), W = candidate windows, K =
deepest candidate depth, D = candidate depths. In the server there is one group; in a replay every lane is
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.cost_model import CostModel, Load

I8 = npt.NDArray[np.int8]
U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]


class Reason(IntEnum):
    """Why a group runs at the depth it runs at; written to the decision log and the live view."""

    STATIC = 0  # the rule never moves
    HOLD = 1  # nothing better by more than the hysteresis
    DEEPEN = 2  # expected gain beats marginal cost
    SHALLOWER = 3
    EXIT = 4  # speculation does not pay: depth 0
    PROBE = 5  # bounded exploration
    WARMUP = 6  # too little data to move
    FALLBACK = 7  # the controller failed and serves the static plan
    FORCED = 8  # an operator pinned the depth
    WAKE = 9  # probes refuted what was believed of these requests: it is forgotten, drafting resumes


@dataclass(frozen=True)
class Candidates:
    """The depths and windows a rule may choose from.

    ``depths`` ascend and may hold 0 (no drafting). ``windows`` hold 0 for full context; ``sink`` tokens are
    always kept. ``start_depth`` and ``start_window`` are the launch configuration: what runs before any
    feedback and after a failure.
    """

    depths: tuple[int, ...] = (0, 1, 2, 3, 5, 7)
    windows: tuple[int, ...] = (0,)
    sink: int = 0
    start_depth: int = 3
    start_window: int = 0

    def __post_init__(self) -> None:
        if not self.depths or list(self.depths) != sorted(set(self.depths)) or self.depths[0] < 0:
            raise ValueError(f"depths must ascend from 0 or more without repeats, got {self.depths}")
        if self.depths[-1] > 127:
            raise ValueError(f"depth {self.depths[-1]} is above 127")
        if not self.windows or len(set(self.windows)) != len(self.windows) or min(self.windows) < 0:
            raise ValueError(f"windows must be distinct and 0 (full) or more, got {self.windows}")
        if self.start_depth not in self.depths:
            raise ValueError(f"start depth {self.start_depth} is not among the depths {self.depths}")
        if self.start_window not in self.windows:
            raise ValueError(f"start window {self.start_window} is not among the windows {self.windows}")
        if self.sink < 0:
            raise ValueError(f"sink must be 0 or more, got {self.sink}")

    @cached_property
    def k_max(self) -> int:
        """Deepest candidate depth K."""
        return self.depths[-1]

    @cached_property
    def depth_array(self) -> I8:
        """Candidate depths, i8[D]."""
        return np.array(self.depths, np.int8)

    @cached_property
    def window_array(self) -> I32:
        """Candidate windows, i32[W]."""
        return np.array(self.windows, np.int32)

    @cached_property
    def start_index(self) -> int:
        """Index of the start depth in ``depths``."""
        return self.depths.index(self.start_depth)

    def reads(self, context: I64) -> F64:
        """Context tokens a draft step reads for every row and candidate window, f64[R, W].

        ``min(L, w + sink)``, or L where w = 0.
        """
        full = context.astype(np.float64)[:, None]  # first: a mixed minimum converts slowly
        return full if self.windows == (0,) else np.minimum(full, self._caps)

    @cached_property
    def _caps(self) -> F64:
        return np.array([w + self.sink if w else np.inf for w in self.windows])


@dataclass
class BatchView:
    """The requests about to run a round.

    Rows are sorted by ``group``; ``group`` holds the group's lasting identity, which keys a rule's own state.
    ``features`` may be ``None`` where no feature is known (columns: see ``controller.features``).
    """

    slot: I32  # [R] where the request's state lives; re-used only after ``forget``
    group: I32  # [R] ascending
    context: I64  # [R] committed tokens L
    generated: I64  # [R] output tokens so far
    features: F32 | None = None  # [R, F]
    #: Every row is its own group; a maker who knows says so, and it is plain for a single row.
    one_row_each: bool = False

    def __post_init__(self) -> None:
        rows = len(self.slot)
        self.one_row_each = self.one_row_each or rows <= 1
        self._one_group = not self.one_row_each and bool(self.group[0] == self.group[rows - 1])

    @cached_property
    def starts(self) -> I64:
        """First row of each group, i64[G]."""
        if self.one_row_each:
            return np.arange(len(self.group), dtype=np.int64)
        return np.concatenate([[0], (self.group[1:] != self.group[:-1]).nonzero()[0] + 1])

    @property
    def groups(self) -> I32:
        """Identity of each group present, i32[G]."""
        return self.first(self.group)

    @property
    def rows_per_group(self) -> I64:
        """Requests in each group, i64[G]."""
        if self.one_row_each:
            return np.ones(len(self.group), np.int64)
        if self._one_group:
            return np.array([len(self.group)])
        return np.diff(self.starts, append=len(self.group))

    @cached_property
    def group_index(self) -> I64:
        """For every row the index of its group among those present, i64[R]."""
        if self.one_row_each:
            return np.arange(len(self.group), dtype=np.int64)
        if self._one_group:
            return np.zeros(len(self.group), np.int64)
        return np.repeat(np.arange(len(self.starts)), self.rows_per_group)

    def parts(self, rows: int) -> Iterator[BatchView]:
        """The same rows in views of at most ``rows``; only where every row is its own group."""
        for first in range(0, len(self.slot), rows):
            part = slice(first, first + rows)
            features = None if self.features is None else self.features[part]
            columns = (self.slot[part], self.group[part], self.context[part], self.generated[part])
            yield BatchView(*columns, features, one_row_each=True)

    def first(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The value of each group's first row: ``[R, ...]`` to ``[G, ...]``."""
        if self.one_row_each:
            return values
        return values[:1] if self._one_group else values[self.starts]

    def sum(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum ``values[R, ...]`` over the rows of each group, ``[G, ...]``."""
        if self.one_row_each:
            return values
        if self._one_group:
            return np.add.reduce(values, axis=0, keepdims=True)
        return np.add.reduceat(values, self.starts, axis=0)

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Give every row its group's value: ``[G, ...]`` to ``[R, ...]``."""
        return values if self.one_row_each else values[self.group_index]


@dataclass
class Estimates:
    """What the controller believes before a round.

    ``survival[r, w, j]`` is the probability that row r accepts at least j+1 drafts when the draft attends
    candidate window w; non-increasing in j, f32[R, W, K]. ``cost`` prices a round.
    """

    survival: F32
    cost: CostModel
    #: Benefit of the doubt for windows little tried, as a share of the expected tokens, f32[R, W]; ``None``:
    #: no doubt.
    window_bonus: F32 | None = None


@dataclass
class Plan:
    """What the next round does.

    ``depth`` per group present in the batch (batch order), ``cap`` per row (<= its group's depth), ``window``
    per row. ``index`` is the position of ``depth`` in the candidates.
    """

    depth: I8  # [G]
    window: I32  # [R]
    reason: U8  # [G]
    cap: I8 | None = None  # [R]; None: the group's depth
    woken: Bool | None = None  # [G]; groups whose requests' past is refuted and shall be forgotten
    plan_id: int = -1  # stamped by the controller

    def row_depth(self, batch: BatchView) -> I8:
        """Depth every row really drafts, i8[R]."""
        depth: I8 = batch.spread(self.depth)
        return depth if self.cap is None else np.minimum(depth, self.cap)


def joined(plans: Sequence[Plan]) -> Plan:
    """One plan for the rows and groups of several, in their order, a row a group; who woke is not kept."""
    columns = [(p.depth, p.window, p.reason, p.depth if p.cap is None else p.cap) for p in plans]
    depth, window, reason, cap = map(np.concatenate, zip(*columns, strict=True))
    return Plan(depth, window, reason, cap)


@dataclass
class RoundResult:
    """What a round did: the TRUE depth and window it ran at, whatever was planned meanwhile.

    ``accepted == depth`` is censored: "at least". ``seconds`` is NaN where unknown or not a sample (prefill,
    stall).
    """

    plan_id: int
    slot: I32  # [R]
    group: I32  # [R] ascending
    context: I64  # [R] committed tokens when the round ran
    depth: I8  # [R] the depth that was verified
    window: I32  # [R]
    accepted: I8  # [R]
    seconds: F64  # [G]
    one_row_each: bool = False
    _view: BatchView | None = field(default=None, repr=False)

    @property
    def rows(self) -> BatchView:
        """The same rows as a batch view, for grouping sums."""
        if self._view is None:
            self._view = BatchView(
                self.slot, self.group, self.context, self.context, one_row_each=self.one_row_each
            )
        return self._view

    def reached(self) -> I8:
        """Chain positions whose acceptance this round revealed, i8[R].

        The first rejection is seen, what lies behind it is not: min(accepted + 1, depth).
        """
        reached: I8 = np.minimum(self.accepted + np.int8(1), self.depth)
        return reached


__all__ = ["BatchView", "Candidates", "CostModel", "Estimates", "Load", "Plan", "Reason", "RoundResult"]
