"""A toy server for tests: draws acceptance at random, runs the plans and feeds results back, late or torn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.controller.depth_controller import DepthController
from adaptive_depth.policies.types import BatchView, Plan, RoundResult

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How results come back: ``lag`` rounds late, and the chance to be lost, doubled or overtaken by one."""

    lag: int = 0
    lost: float = 0.0
    doubled: float = 0.0
    swapped: float = 0.0


class ToyServer:
    """Rounds of fixed requests, every draft accepted with a chance that may differ by request and position.

    ``accept[R, K]`` is the chance that the draft at a position is accepted when all before it were; it may
    be replaced between rounds. The same seed draws the same chains whatever the depths, so two rules meet
    the same luck.

    >>> from adaptive_depth.controller.build import build_controller
    >>> server = ToyServer(build_controller("static:2"), accept=np.full((1, 7), 0.5))
    >>> server.run(3).tolist()
    [[2], [2], [2]]
    """

    def __init__(
        self,
        controller: DepthController,
        *,
        accept: F64,
        group: Sequence[int] | None = None,
        context: int = 100_000,
        seconds: float = np.nan,
        delivery: Delivery | None = None,
        seed: int = 0,
    ) -> None:
        rows = len(accept)
        self.controller, self.accept = controller, accept
        self.slot = np.arange(rows, dtype=np.int32)
        self.group = self.slot if group is None else np.array(group, np.int32)
        self._context = np.full(rows, context, np.int64)
        self._seconds, self._delivery = seconds, delivery or Delivery()
        # One stream of luck for the chains, another for the deliveries.
        self._luck, self._post = np.random.default_rng(seed).spawn(2)
        self._under_way: list[RoundResult] = []
        self.accepted = np.zeros(rows, np.int8)

    def run(self, rounds: int) -> npt.NDArray[np.int8]:
        """Play rounds; the depths of every group, i8[rounds, G]."""
        return np.array([self.round().depth for _ in range(rounds)])

    def round(self) -> Plan:
        """Play one round and deliver what is due."""
        batch = self.batch()
        plan = self.controller.plan(batch)
        depth = plan.row_depth(batch)
        self.accepted = np.minimum(self._chains(), depth)
        seconds = np.full(len(batch.groups), self._seconds)
        self._under_way.append(self._result(batch, plan, depth, seconds))
        while len(self._under_way) > self._delivery.lag:
            self._deliver()
        return plan

    def batch(self) -> BatchView:
        """The requests as the controller sees them."""
        alone = len(np.unique(self.group)) == len(self.group)
        return BatchView(self.slot, self.group, self._context, self._context, one_row_each=alone)

    def _chains(self) -> npt.NDArray[np.int8]:
        """Drafts that would be accepted however deep the chain, i8[R]."""
        passed = self._luck.random(self.accept.shape) < self.accept
        length: npt.NDArray[np.int8] = np.logical_and.accumulate(passed, axis=1).sum(axis=1).astype(np.int8)
        return length

    def _result(self, batch: BatchView, plan: Plan, depth: npt.NDArray[np.int8], seconds: F64) -> RoundResult:
        return RoundResult(
            plan.plan_id,
            batch.slot,
            batch.group,
            batch.context,
            depth,
            plan.window,
            self.accepted,
            seconds,
            one_row_each=batch.one_row_each,
        )

    def _deliver(self) -> None:
        lost, doubled, swapped = self._post.random(3) < (
            self._delivery.lost,
            self._delivery.doubled,
            self._delivery.swapped,
        )
        result = self._under_way.pop(1 if swapped and len(self._under_way) > 1 else 0)
        if not lost:
            for _ in range(1 + doubled):
                self.controller.observe(result)
