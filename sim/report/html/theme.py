"""Colours of the page: what follows the reader's light or dark theme, and one colour a policy or window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from adaptive_depth.sim.replay_report import ReplayReport, ReplayRow

#: Stand-ins for the theme's colours while a figure is drawn; the page's style sheet gives them their values.
INK, MUTED, FAINT, PAPER = "#100001", "#100002", "#100003", "#100004"
VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", FAINT: "var(--faint)", PAPER: "var(--paper)"}
#: Mid tones that stand out on white and on black alike.
_POLICIES = ("#2f7fd6", "#e07b39", "#2e9e6b", "#a45fc8", "#d1495b", "#2a9db0", "#b08d2f", "#8a6d5a")
_HINDSIGHT = ("#c79a00", "#7f7f7f", "#b0708c")
_WINDOWS = ("#6f86a8", "#3f9c9c", "#8f7bd1", "#c98a4b", "#6aa84f", "#c2607a")

Shape = Literal["dot", "diamond", "band", "solid", "dashed", "dotted", "dashdot"]
_DASHES: tuple[Shape, ...] = ("solid", "dashed", "dotted", "dashdot")
MARKERS = {"dot": "o", "diamond": "D"}


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a figure's legend."""

    colour: str
    shape: Shape
    label: str


@dataclass(slots=True)
class Palette:
    """The same colour for the same policy in every figure of the page."""

    policies: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, report: ReplayReport) -> Palette:
        """Colours in order of appearance; beyond eight names they repeat."""
        runnable = _names(report, ("policy", "played"))
        hindsight = _names(report, ("hindsight",))
        colours = dict(zip(hindsight, _cycle(_HINDSIGHT, len(hindsight)), strict=True))
        return cls(colours | dict(zip(runnable, _cycle(_POLICIES, len(runnable)), strict=True)))

    def key(self, row: ReplayRow) -> Key:
        """How a row is drawn: what could run in the server as a dot, what needs the future as a diamond."""
        shape: Shape = "diamond" if row.role == "hindsight" else "dot"
        return Key(self.policies[row.policy], shape, row.policy)


def window_style(index: int) -> tuple[str, Shape]:
    """Colour and line of the ``index``-th window of a set."""
    return _WINDOWS[index % len(_WINDOWS)], _DASHES[index % len(_DASHES)]


def _names(report: ReplayReport, roles: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(row.policy for row in report.rows if row.role in roles))


def _cycle(colours: Iterable[str], count: int) -> list[str]:
    known = tuple(colours)
    return [known[i % len(known)] for i in range(count)]
