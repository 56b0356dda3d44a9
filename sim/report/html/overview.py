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
from adaptive_depth.sim.report.html.theme import INK, PAPER, Palette
from adaptive_depth.sim.report.replay_sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME_LETTERS = 44


def overview_figure(name: str, members: list[Section], palette: Palette) -> str:
    """Dots: policies with their intervals. Diamonds: what needs the future. Empty where no policy ran."""
    lines = [rows for section in members if section.best_policy and (rows := _shown(section))][::-1]
    if not lines:
        return ""
    names = [_set_name(rows[0], members) for rows in lines]
    policies = list(dict.fromkeys(row.policy for rows in lines for row in rows if row.role == "policy"))

    def paint(figure: Figure) -> None:
        axes = add_axes(figure, AXIS, "", left=names_width(names), right=14)
        axes.set_xlim(*limits([row for rows in lines for row in rows]))
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
    key, low = palette.key(row), axes.get_xlim()[0]
    ends = interval_ends(row) if row.role == "policy" else []
    axes.plot(ends, [height] * len(ends), color=key.colour, linewidth=1.2, alpha=0.6)
    marker = "<" if gain(row) < low else "D" if row.role == "hindsight" else "o"
    size = 5.0 if row.role == "hindsight" else 6.5
    style: dict[str, Any] = {
        "color": key.colour,
        "markeredgecolor": PAPER,
        "markersize": size,
        "clip_on": False,
    }
    axes.plot([max(gain(row), low)], [height], marker=marker, linestyle="none", **style)


def _set_name(row: ReplayRow, members: list[Section]) -> str:
    """The set's name, with the cost where several are compared."""
    several = len({member.head.cost for member in members}) > 1
    return short(f"{row.trace_set}, {row.cost}" if several else row.trace_set, _NAME_LETTERS)
