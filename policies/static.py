"""``static``: one depth and one window, always."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.registry import register
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Plan, Reason, RoundResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticConfig:
    """``depth`` and ``window`` must be candidates; ``None`` takes the start values."""

    depth: int | None = None
    window: int | None = None


@register("static", StaticConfig)
class Static:
    """One fixed depth and window, as SGLang's own flags give.

    >>> rule = Static(StaticConfig(depth=2), Candidates())
    >>> rule.depth, rule.window
    (2, 0)
    """

    uses_survival = False
    learns = False

    def __init__(self, config: StaticConfig, candidates: Candidates) -> None:
        self.depth = candidates.start_depth if config.depth is None else config.depth
        self.window = candidates.start_window if config.window is None else config.window
        if self.depth not in candidates.depths:
            raise ValueError(f"static depth {self.depth} is not among the candidates {candidates.depths}")
        if self.window not in candidates.windows:
            raise ValueError(f"static window {self.window} is not among the candidates {candidates.windows}")

    def plan(self, batch: BatchView, estimates: Estimates) -> Plan:
        """The same depth and window whatever the batch."""
        groups = len(batch.groups)
        return Plan(
            np.full(groups, self.depth, np.int8),
            np.full(len(batch.slot), self.window, np.int32),
            np.full(groups, Reason.STATIC, np.uint8),
        )

    def observe(self, result: RoundResult) -> None:
        """Nothing to learn."""

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Nothing is kept."""

    def state_dict(self) -> dict[str, Any]:
        """Empty: there is no state."""
        return {"version": 1}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""
