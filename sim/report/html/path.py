"""Figure: the depth a policy chose along one request, what was accepted, and the window it drafted with."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

from adaptive_depth.sim.replay_report import RequestPath, SetPictures
from adaptive_depth.sim.report.html.svg import FULL_WIDTH, add_axes, draw
from adaptive_depth.sim.report.html.theme import INK, Key, window_style
from adaptive_depth.sim.report.replay_cells import window_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Rounds of a request that are drawn; more would be a smear.
ROUNDS_SHOWN = 240
_DEPTH = INK
_ACCEPTED = "#e07b39"


def path_figure(name: str, path: RequestPath, pictures: SetPictures) -> str:
    """The first :data:`ROUNDS_SHOWN` rounds of one request."""
    rounds = slice(0, ROUNDS_SHOWN)
    depth, position = path.depth[rounds], path.position[rounds]

    def paint(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = add_axes(figure, "output position", "drafts")
        end = _end(path)
        axes.step([*position, end], [*depth, depth[-1]], where="post", color=_DEPTH, linewidth=1.1)
        _dots(axes, position, path.accepted[rounds])
        if len(pictures.windows) > 1:
            _window_band(axes, path, pictures, end)
        axes.set_xlim(position[0], end)
        axes.set_ylim(
            -0.9 if len(pictures.windows) > 1 else -0.4, max([*depth, *path.accepted[rounds], 2]) + 0.5
        )
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        axes.yaxis.set_major_formatter(lambda drafts, _: f"{drafts:.0f}" if drafts >= 0 else "")

    return draw(name, (FULL_WIDTH, 150), paint, "Depth and accepted drafts along one request")


def _dots(axes: Axes, position: list[int], accepted: list[int]) -> None:
    """Lines of no length with round ends: one path for all dots, a fraction of a marker each."""
    x = [end for p in position for end in (p, p, math.nan)]
    y = [end for a in accepted for end in (a, a, math.nan)]
    axes.plot(x, y, color=_ACCEPTED, linewidth=3.6, solid_capstyle="round")


def path_keys(pictures: SetPictures) -> list[Key]:
    """The legend that all paths of a set share."""
    played = {window for path in pictures.paths for window in path.window}
    bands = [
        Key(window_style(index)[0], "band", f"window {window_name(window)}")
        for index, window in enumerate(pictures.windows)
        if window in played and len(pictures.windows) > 1
    ]
    return [Key("var(--ink)", "solid", "depth"), Key(_ACCEPTED, "dot", "accepted drafts"), *bands]


def _end(path: RequestPath) -> int:
    """Where the last round that is drawn ends."""
    if len(path.position) > ROUNDS_SHOWN:
        return path.position[ROUNDS_SHOWN]
    return path.position[-1] + path.accepted[-1] + 1


def _window_band(axes: Axes, path: RequestPath, pictures: SetPictures, end: int) -> None:
    """A strip below depth 0, one colour a window."""
    edges = [*path.position[:ROUNDS_SHOWN], end]
    first = 0
    for window, run in groupby(path.window[:ROUNDS_SHOWN]):
        last = first + len(list(run))
        index = pictures.windows.index(window) if window in pictures.windows else len(pictures.windows)
        width = edges[last] - edges[first]
        axes.barh(-0.6, width, left=edges[first], height=0.35, color=window_style(index)[0], linewidth=0)
        first = last
