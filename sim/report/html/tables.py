"""The tables of the page: the same cells as in the terminal."""

from __future__ import annotations

from html import escape

from adaptive_depth.sim.replay_report import ReplayRow
from adaptive_depth.sim.report.replay_cells import (
    Column,
    clean,
    columns,
    gap_closed,
    interval,
    percent,
    versus_best_static,
)
from adaptive_depth.sim.report.replay_sections import Section

_BADGES = ("recorded", "imported", "synthetic", "exact", "modelled", "unsupported")
_WORDS = ("set", "cost", "best policy")
_FIGURES = ("vs best static", "95 % CI", "gap closed", "vs no-spec", "evidence")


def section_table(section: Section) -> str:
    """Policies, what was played, the static ladder and hindsight, as one table."""
    shown = columns(section)
    titles = (escape(column.heading.strip()).replace("\n", "<br>") for column in shown)
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    bodies = [
        _body("", section.policies, shown, section.best_policy),
        _body("as played", section.played, shown),
        _body("static depths", section.ladder, shown),
        _body("in hindsight", section.hindsight, shown),
    ]
    return _table(head, bodies)


def summary_table(by_origin: dict[str, list[Section]], anchors: dict[int, str]) -> str:
    """Each set's best policy, a body an origin; ``anchors``: where a set stands, by ``id`` of its section."""
    head = "".join(f'<th scope="col" class="text">{word}</th>' for word in _WORDS)
    head += "".join(f'<th scope="col">{word}</th>' for word in _FIGURES)
    width = len(_WORDS + _FIGURES)
    bodies = []
    for origin, members in by_origin.items():
        rows = "".join(_summary_row(section, anchors[id(section)]) for section in members)
        group = f'<tr class="group"><th colspan="{width}">{badge(origin)}</th></tr>'
        bodies.append(f"<tbody>{group}{rows}</tbody>")
    return _table(head, bodies)


def badge(word: str) -> str:
    """An origin or evidence as a coloured word."""
    return f'<span class="badge {word if word in _BADGES else ""}">{escape(clean(word))}</span>'


def _table(head: str, bodies: list[str]) -> str:
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>{"".join(bodies)}</table></div>'


def _body(label: str, rows: list[ReplayRow], shown: list[Column], best: ReplayRow | None = None) -> str:
    if not rows:
        return ""
    title = f'<tr class="group"><th colspan="{len(shown)}">{escape(label)}</th></tr>' if label else ""
    content = "".join(_row(row, shown, "best" if row is best else "") for row in rows)
    return f'<tbody class="{rows[0].role}">{title}{content}</tbody>'


def _row(row: ReplayRow, shown: list[Column], kind: str) -> str:
    cells = (f'<td class="{column.tone(row)}">{escape(column.text(row))}</td>' for column in shown[1:])
    name = f'<th scope="row">{escape(shown[0].text(row))}</th>'
    return f'<tr class="{kind}">{name}{"".join(cells)}</tr>'


def _summary_row(section: Section, anchor: str) -> str:
    head, best = section.head, section.best_policy
    name = f'<th scope="row"><a href="#{anchor}">{escape(clean(head.trace_set))}</a></th>'
    name += f'<td class="text">{escape(clean(head.cost))}</td>'
    if best is None:
        return f'<tr>{name}<td class="text unsupported" colspan="6">none could be replayed</td></tr>'
    gain = f'<td class="{versus_best_static(best)}">{percent(best.vs_best_static)}</td>'
    figures = (interval(best), gap_closed(best), percent(best.speedup_vs_no_spec, 0))
    rest = "".join(f"<td>{figure}</td>" for figure in figures) + f"<td>{badge(best.evidence)}</td>"
    return f'<tr>{name}<td class="text">{escape(clean(best.policy))}</td>{gain}{rest}</tr>'
