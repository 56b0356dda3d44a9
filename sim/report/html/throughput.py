"""Figure: tokens a second of every static depth by window, and where the policies came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptive_depth.sim.replay_report import ReplayRow, SetPictures
from adaptive_depth.sim.report.html.svg import HALF_WIDTH, add_axes, draw, legend, whole_ticks
from adaptive_depth.sim.report.html.theme import MARKERS, PAPER, Key, Palette, window_style
from adaptive_depth.sim.report.replay_cells import known, window_name
from adaptive_depth.sim.report.replay_sections import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def throughput_figure(name: str, section: Section, pictures: SetPictures, palette: Palette) -> str:
    """Lines: static depths, one a window. Points: a policy's rate at its mean depth."""
    points = _points(section)
    lines = [(window_style(i), w, pictures.ladder.get(w, [])) for i, w in enumerate(pictures.windows)]

    def paint(figure: Figure) -> None:
        axes = add_axes(figure, "depth (policies: mean depth)", "tokens/s")
        whole_ticks(axes)
        for (colour, line), _, ladder in lines:
            axes.plot(*_columns(ladder), color=colour, linestyle=line, marker=".", linewidth=1.4)
        for row, place in points:
            key = palette.key(row)
            style: dict[str, Any] = {"color": key.colour, "marker": MARKERS[key.shape]}
            axes.plot(*place, linestyle="none", markersize=7, markeredgecolor=PAPER, **style)

    keys = [Key(colour, line, f"static, window {window_name(w)}") for (colour, line), w, _ in lines]
    svg = draw(name, (HALF_WIDTH, 250), paint, "Tokens a second against depth")
    return svg + legend(keys + [palette.key(row) for row, _ in points])


def _points(section: Section) -> list[tuple[ReplayRow, tuple[float, float]]]:
    """(depth, rate) of all but the best static, which is the top of the lines."""
    lines = {row.tokens_per_second for row in section.ladder}
    future = [row for row in section.hindsight if row.tokens_per_second not in lines]
    rows = [*section.policies, *section.played, *future]
    places = ((row, known(row.mean_depth), known(row.tokens_per_second)) for row in rows)
    return [(row, (depth, rate)) for row, depth, rate in places if depth is not None and rate is not None]


def _columns(ladder: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    ordered = sorted(ladder)
    return [depth for depth, _ in ordered], [rate for _, rate in ordered]
