"""Figure: what a round costs by depth and window, and what each further draft adds."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from adaptive_depth.sim.replay_report import SetPictures
from adaptive_depth.sim.report.html.svg import HALF_WIDTH, add_axes, draw, legend, whole_ticks
from adaptive_depth.sim.report.html.theme import Key, window_style
from adaptive_depth.sim.report.replay_cells import window_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def round_cost_figure(name: str, pictures: SetPictures) -> str:
    """Two plots: milliseconds of a round; milliseconds per draft between neighbouring depths."""
    rounds = {w: sorted(pictures.round_seconds.get(w, [])) for w in pictures.windows}

    def paint(figure: Figure) -> None:
        half = HALF_WIDTH / 2
        left = add_axes(figure, "depth", "ms", right=half + 4, top=20)
        right = add_axes(figure, "depth", "", left=half + 30, top=20)
        _curves(left, "ms of a round", {w: [(k, 1000 * s) for k, s in r] for w, r in rounds.items()})
        _curves(right, "ms per further draft", {w: marginal_ms(r) for w, r in rounds.items()})

    keys = [Key(*window_style(i), f"window {window_name(w)}") for i, w in enumerate(pictures.windows)]
    return draw(name, (HALF_WIDTH, 210), paint, "Cost of a round by depth") + legend(keys)


def marginal_ms(rounds: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """(depth, ms per draft added since the depth before) of rounds by ascending depth, in seconds.

    >>> marginal_ms([(0, 0.010), (1, 0.012), (3, 0.015)])
    [(1, 2.0), (3, 1.5)]
    """
    return [(k, round(1000 * (b - a) / (k - j), 9)) for (j, a), (k, b) in pairwise(rounds)]


def _curves(axes: Axes, title: str, curves: dict[int, list[tuple[int, float]]]) -> None:
    whole_ticks(axes)
    axes.set_title(title)
    for index, points in enumerate(curves.values()):
        colour, line = window_style(index)
        depths, values = [k for k, _ in points], [ms for _, ms in points]
        axes.plot(depths, values, color=colour, linestyle=line, marker=".", linewidth=1.4)
    axes.set_ylim(bottom=0)
