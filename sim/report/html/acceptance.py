"""Figure: how acceptance falls along the chain, marginal and conditional, one line a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptive_depth.sim.replay_report import SetPictures
from adaptive_depth.sim.report.html.svg import HALF_WIDTH, add_axes, draw, legend, whole_ticks
from adaptive_depth.sim.report.html.theme import Key, window_style
from adaptive_depth.sim.report.replay_cells import window_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def acceptance_figure(name: str, pictures: SetPictures) -> str:
    """Two plots: all drafts so far accepted; this draft accepted given those before it."""

    def paint(figure: Figure) -> None:
        half = HALF_WIDTH / 2
        left = add_axes(figure, "chain position", "share accepted", right=half + 4, top=20)
        right = add_axes(figure, "chain position", "", left=half + 30, top=20)
        _curves(left, "marginal", pictures.marginal, pictures.windows)
        _curves(right, "conditional", pictures.conditional, pictures.windows)

    keys = [Key(*window_style(i), f"window {window_name(w)}") for i, w in enumerate(pictures.windows)]
    return draw(name, (HALF_WIDTH, 210), paint, "Acceptance by position") + legend(keys)


def _curves(axes: Axes, title: str, curves: dict[int, list[float]], windows: list[int]) -> None:
    whole_ticks(axes)
    axes.set_title(title)
    for index, window in enumerate(windows):
        values = curves.get(window, [])
        colour, line = window_style(index)
        axes.plot(range(1, len(values) + 1), values, color=colour, linestyle=line, marker=".", linewidth=1.4)
    axes.set_ylim(0, 1.02)
