"""Draws one figure as an SVG element that can stand in a page: same input, same bytes, colours by theme."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from adaptive_depth.sim.report.html.theme import FAINT, INK, MUTED, VARIABLES, Key
from adaptive_depth.sim.report.replay_cells import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Points of a figure beside another one, and of one across the page.
HALF_WIDTH, FULL_WIDTH = 400.0, 820.0
_POINTS_PER_INCH = 72.0


def draw(name: str, size: tuple[float, float], paint: Callable[[Figure], None], label: str) -> str:
    """The figure ``paint`` fills, as ``<svg>``; ``size`` in points, ``label`` for those who cannot see it.

    ``name`` must differ between the figures of a page: it seeds the ids inside.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser draws the text and has the glyph
        figure = Figure((size[0] / _POINTS_PER_INCH, size[1] / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH)
        paint(figure)
        text = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(text, metadata=nothing)  # draws once, where savefig draws twice
    return _inline(text.getvalue(), size, label)


def legend(keys: list[Key]) -> str:
    """The entries of a figure's legend as HTML, so that long names wrap."""
    marks = (f'<i class="{key.shape}" style="color:{key.colour}"></i>' for key in keys)
    items = (
        f'<span class="key">{m}{escape(clean(k.label))}</span>' for m, k in zip(marks, keys, strict=True)
    )
    return f'<div class="legend">{"".join(items)}</div>'


def add_axes(
    figure: Figure, x: str, y: str, *, left: float = 44, right: float = 8, top: float = 8, bottom: float = 34
) -> Axes:
    """Axes as every figure has them, with margins in points: two spines, a faint grid, labelled."""
    width, height = figure.bbox.width, figure.bbox.height
    inner = (width - left - right, height - top - bottom)
    axes = figure.add_axes((left / width, bottom / height, inner[0] / width, inner[1] / height))
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, linewidth=0.5)
    axes.set_axisbelow(True)
    return axes


def whole_ticks(axes: Axes) -> None:
    """Depths and positions are whole numbers; so are their ticks."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))


_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "figure.facecolor": "none",
    "path.simplify": False,
    "axes.facecolor": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "grid.color": FAINT,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}
#: What a page does not need: the figure's own style and metadata, its font, rotations by nothing.
_NEEDLESS = re.compile(
    r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>"
    r"| font-family: [^;\"]*;?| transform=\"rotate\(-0 [^)]*\)\"",
    re.DOTALL,
)
_ID = re.compile(r' id="([^"]+)"')
_REFERENCE = re.compile(r'(?:url\(#|href="#)([^)"]+)')
_TAG = re.compile(r"<[^>]+>")
_LONG_NUMBER = re.compile(r"\d+\.\d{2,}")
_GROUP = re.compile(r"<g( [^>]*)?>|</g>")


def _inline(document: str, size: tuple[float, float], label: str) -> str:
    """The ``<svg>`` of a document as it stands in a page, about a third as long."""
    body = document[document.index(">", document.index("<svg")) + 1 :].replace("xlink:href", "href")
    body = _NEEDLESS.sub("", body)
    for stand_in, variable in VARIABLES.items():
        body = body.replace(stand_in, variable)
    used = set(_REFERENCE.findall(body))
    body = _ID.sub(lambda match: match.group() if match.group(1) in used else "", body)
    body = _TAG.sub(lambda tag: _LONG_NUMBER.sub(_tenths, " ".join(tag.group().split())), body)
    head = f'<svg viewBox="0 0 {size[0]:g} {size[1]:g}" role="img" aria-label="{escape(clean(label))}">'
    return head + re.sub(r"\n\s*", "", _without_idle_groups(body))


def _tenths(number: re.Match[str]) -> str:
    """A tenth of a point is finer than most screens."""
    return f"{float(number.group()):.1f}".removesuffix(".0")


def _without_idle_groups(body: str) -> str:
    """Groups that carry no attribute change nothing."""
    kept: list[bool] = []

    def rewrite(tag: re.Match[str]) -> str:
        if tag.group() == "</g>":
            return "</g>" if kept.pop() else ""
        kept.append(tag.group(1) is not None)
        return tag.group() if kept[-1] else ""

    return _GROUP.sub(rewrite, body)
