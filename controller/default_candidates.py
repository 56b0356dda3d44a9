"""The depths and windows a rule may choose from where nobody says."""

from __future__ import annotations

from typing import Any

from adaptive_depth.policies.sglang_ema_config import SglangEmaConfig
from adaptive_depth.policies.static import StaticConfig
from adaptive_depth.policies.types import Candidates


def default_candidates(config: Any) -> Candidates:  # noqa: ANN401
    """Candidates for a rule of this ``config``; ValueError where it names an impossible depth or window.

    ``static`` may move to the usual depths but starts at its own; ``sglang-ema`` has its ladders and starts
    where the stock server does, at their upper median; any other rule has the usual depths at full context.
    """
    usual = Candidates()
    match config:
        case StaticConfig(depth=depth, window=window):
            return _including(usual, usual.start_depth if depth is None else depth, window or 0)
        case SglangEmaConfig(depths=depths):
            return Candidates(depths, start_depth=depths[len(depths) // 2])
    return usual


def _including(usual: Candidates, depth: int, window: int) -> Candidates:
    """``usual`` with this depth and window added and started at."""
    return Candidates(
        tuple(sorted({*usual.depths, depth})),
        tuple(sorted({*usual.windows, window})),
        start_depth=depth,
        start_window=window,
    )
