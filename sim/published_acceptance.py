"""What the Windowed-MTP paper and its repository publish about acceptance at 1.04M context.

Depths are drafts (the paper's d less one); window 0 is the native full context. Every figure is a
single run, and single-run accept lengths scatter by 15 % or more, so the fit weighs them and ``sim
synth --check`` prints what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adaptive_depth.controller.published import BEST_DEPTHS, WINDOW

#: ``accept_length``: tokens a round. ``ms_per_token``: time a token. ``window_gain``: native over
#: windowed time a token. ``speedup``: time a token without drafting over that with it.
Quantity = Literal["accept_length", "ms_per_token", "window_gain", "speedup"]


@dataclass(frozen=True, slots=True)
class AcceptanceAnchor:
    """One published figure. ``sigma`` is relative and 0 for a figure that is only compared."""

    model: str
    task: str
    quantity: Quantity
    window: int
    depth: int
    value: float
    sigma: float
    source: str

    @property
    def set_name(self) -> str:
        """The synthetic set it belongs to."""
        return f"{self.model}-{self.task}"


#: Relative error of a single run's accept length, and of the time per token at a best depth (a minimum
#: over runs).
LENGTH_SIGMA, TIME_SIGMA = 0.05, 0.03


def _needle() -> list[AcceptanceAnchor]:
    """Accept length and time per token of the needle task at depth 6, native and windowed."""
    rows = (
        ("q35", (4.49, 5.94), (4.74, 3.89)),
        ("q122", (5.57, 6.09), (4.74, 5.46)),
        ("nem", (3.75, 8.77), (3.61, 7.15)),
    )
    return [
        anchor
        for model, native, windowed in rows
        for window, (length, ms) in ((0, native), (WINDOW, windowed))
        for anchor in (
            AcceptanceAnchor(model, "niah-mq", "accept_length", window, 6, length, LENGTH_SIGMA, "Table 2"),
            AcceptanceAnchor(model, "niah-mq", "ms_per_token", window, 6, ms, 0.0, "Table 2"),
        )
    ]


def _dose() -> list[AcceptanceAnchor]:
    """Windows of q35's needle task; the dip at 8K is called run-to-run variance, so it is only compared."""
    rows = ((1024, 3.79, 4.89, LENGTH_SIGMA), (2048, 4.74, 3.85, LENGTH_SIGMA), (8192, 4.16, 4.50, 0.0))
    return [
        anchor
        for window, length, ms, sigma in rows
        for anchor in (
            AcceptanceAnchor("q35", "niah-mq", "accept_length", window, 6, length, sigma, "window sweep"),
            AcceptanceAnchor("q35", "niah-mq", "ms_per_token", window, 6, ms, 0.0, "window sweep"),
        )
    ]


def _difficulty() -> list[AcceptanceAnchor]:
    """q35 tasks at depth 6: native accept length, and what the window gains end to end."""
    rows = (("multivalue", 5.9, 1.04), ("vt", 4.2, 1.17), ("cwe", 2.8, 1.38))
    return [
        anchor
        for task, length, gain in rows
        for anchor in (
            AcceptanceAnchor("q35", task, "accept_length", 0, 6, length, LENGTH_SIGMA, "difficulty order"),
            AcceptanceAnchor("q35", task, "window_gain", WINDOW, 6, gain, LENGTH_SIGMA, "difficulty order"),
        )
    ]


def _net_negative() -> list[AcceptanceAnchor]:
    """Native cells at depth 6 that lose to plain decoding."""
    rows = (("q122", "code-qa", 0.80), ("nem", "fwe", 0.97))
    return [
        AcceptanceAnchor(m, t, "speedup", 0, 6, v, LENGTH_SIGMA, "net-negative cells") for m, t, v in rows
    ]


def _best() -> list[AcceptanceAnchor]:
    """Time per token at the best depth of every cell of the best-depth table."""
    return [
        AcceptanceAnchor(
            b.model, b.task, "ms_per_token", b.window, b.depth, b.ms_per_token, TIME_SIGMA, "Table 3"
        )
        for b in BEST_DEPTHS
    ]


ANCHORS = (*_needle(), *_dose(), *_difficulty(), *_net_negative(), *_best())


def depths_swept(model: str, window: int) -> tuple[int, ...]:
    """Depths the best-depth table took its minimum over; native depth 8 ran out of memory on two models."""
    return (2, 4, 6) if window == 0 and model != "q35" else (2, 4, 6, 8)
