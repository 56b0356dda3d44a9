"""Figure: the gain of every policy over the best static depth, one line a set, for the sets of one origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from adaptive_depth.sim.report.html.svg import FULL_WIDTH, add_axes, draw, legend
from adaptive_depth.sim.report.html.theme import INK, MUTED, PAPER, Palette
from adaptive_depth.sim.report.replay_cells import percent
from adaptive_depth.sim.report.replay_sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME_LETTERS = 44
#: A bound further off than this many times the span of the policies is an arrow with its figure.
_REACH = 0.6


def overview_figure(name: str, members: list[Section], palette: Palette) -> str:
    """Dots: policies with their intervals. Diamonds: what needs the future. Empty where no policy ran."""
    lines = [rows for section in members if section.best_policy and (rows := _shown(section))][::-1]
    if not lines:
        return ""
    names = [_set_name(rows[0], members) for rows in lines]
    policies = list(dict.fromkeys(row.policy for rows in lines for row in rows if row.role == "policy"))

    def paint(figure: Figure) -> None:
        axes = add_axes(figure, AXIS, "", left=names_width(names), right=44)
        axes.set_xlim(*limits([row for rows in lines for row in rows], _REACH))
        axes.axvline(0, color=INK, linewidth=0.8)
        for place, rows in enumerate(lines):
            for row in rows:
                _mark(axes, place + _offset(row, policies), row, palette)
        axes.set_yticks(range(len(lines)), names)
        axes.set_ylim(-0.6, len(lines) - 0.4)

    svg = draw(name, (FULL_WIDTH, 50 + 30 * len(lines)), paint, "Gain over the best static depth, by set")
    keys = {row.policy: palette.key(row) for rows in lines for row in rows}
    return svg + legend(sorted(keys.values(), key=lambda key: key.shape == "diamond"))


def _shown(section: Section) -> list[ReplayRow]:
    return [row for row in [*section.policies, *section.hindsight] if has_gain(row)]


def _offset(row: ReplayRow, policies: list[str]) -> float:
    """Policies stand a little above one another, so that equal ones stay visible."""
    if row.role == "hindsight":
        return 0.0
    return 0.5 * (0.5 - (policies.index(row.policy) + 0.5) / len(policies))


def _mark(axes: Axes, height: float, row: ReplayRow, palette: Palette) -> None:
    """A row's mark, or an arrow at the end of the axis that it lies beyond."""
    colour, (low, high) = palette.key(row).colour, axes.get_xlim()
    future = row.role == "hindsight"
    ends = [] if future else interval_ends(row)
    axes.plot(ends, [height] * len(ends), color=colour, linewidth=1.2, alpha=0.6)
    marker = "<" if gain(row) < low else ">" if gain(row) > high else "D" if future else "o"
    style: dict[str, Any] = {"markeredgecolor": PAPER, "markersize": 5.0 if future else 6.5, "clip_on": False}
    place = min(max(gain(row), low), high)
    axes.plot([place], [height], color=colour, marker=marker, linestyle="none", **style)
    if marker == ">":
        words: dict[str, Any] = {"color": MUTED, "fontsize": 8, "va": "center", "textcoords": "offset points"}
        axes.annotate(percent(row.vs_best_static, 0), (place, height), (7, 0), **words)


def _set_name(row: ReplayRow, members: list[Section]) -> str:
    """The set's name, with the cost where several are compared."""
    several = len({member.head.cost for member in members}) > 1
    return short(f"{row.trace_set}, {row.cost}" if several else row.trace_set, _NAME_LETTERS)
