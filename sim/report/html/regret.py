"""Figure: how far every policy is from the best static depth and from the clairvoyant, on one set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptive_depth.sim.replay_report import ReplayRow
from adaptive_depth.sim.report.html.gain_axis import (
    AXIS,
    gain,
    has_gain,
    interval_ends,
    limits,
    names_width,
    short,
)
from adaptive_depth.sim.report.html.svg import HALF_WIDTH, add_axes, draw, legend
from adaptive_depth.sim.report.html.theme import INK, MUTED, Key, Palette
from adaptive_depth.sim.report.replay_cells import gap_closed, percent
from adaptive_depth.sim.report.replay_sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Points right of the plot for the figures of each bar.
_VALUES_WIDTH = 112
_NAME_LETTERS = 24


def regret_figure(name: str, section: Section, palette: Palette) -> str:
    """Bars: gain over the best static depth with its interval; the pale rest leads up to the clairvoyant."""
    rows = [row for row in [*section.policies, *section.played] if has_gain(row)][::-1]
    bounds = [row for row in section.hindsight if has_gain(row)]
    if not rows:
        return ""
    names = [short(row.policy, _NAME_LETTERS) for row in rows]

    def paint(figure: Figure) -> None:
        axes = add_axes(figure, AXIS, "", left=names_width(names), right=_VALUES_WIDTH)
        axes.grid(False, axis="y")
        axes.set_xlim(*limits([*rows, *bounds]))
        for place, row in enumerate(rows):
            _bar(axes, place, row, max(map(gain, bounds), default=0.0), palette.key(row).colour)
        for bound in bounds:
            axes.axvline(gain(bound), color=palette.key(bound).colour, linewidth=1.6)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_yticks(range(len(rows)), names)
        axes.tick_params(axis="y", length=0)

    svg = draw(name, (HALF_WIDTH, 55 + 26 * len(rows)), paint, "Gain over the best static depth, by policy")
    return svg + legend([Key(palette.key(bound).colour, "solid", bound.policy) for bound in bounds])


def _bar(axes: Axes, place: int, row: ReplayRow, furthest: float, colour: str) -> None:
    """One policy's bar, what is left to the furthest bound, its interval, and its figures beside the plot."""
    if furthest > gain(row):
        axes.barh(place, furthest - gain(row), left=gain(row), height=0.5, color=colour, alpha=0.15)
    axes.barh(place, gain(row), height=0.5, color=colour)
    ends = interval_ends(row)
    axes.plot(ends, [place] * len(ends), color=INK, linewidth=1.2)
    closed = "" if row.gap_closed is None else f", {gap_closed(row)} of gap"
    beside = axes.get_yaxis_transform()
    figures = percent(row.vs_best_static) + closed
    axes.text(1.02, place, figures, color=MUTED, transform=beside, va="center", fontsize=8)
