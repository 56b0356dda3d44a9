"""Puts the page together: what was replayed, every set with its tables and figures, what the words mean."""

from __future__ import annotations

from html import escape
from pathlib import Path

from adaptive_depth.sim.replay_report import ReplayReport, RequestPath, SetPictures
from adaptive_depth.sim.report.html.acceptance import acceptance_figure
from adaptive_depth.sim.report.html.overview import overview_figure
from adaptive_depth.sim.report.html.path import ROUNDS_SHOWN, path_figure, path_keys
from adaptive_depth.sim.report.html.regret import regret_figure
from adaptive_depth.sim.report.html.round_cost import round_cost_figure
from adaptive_depth.sim.report.html.style import STYLE
from adaptive_depth.sim.report.html.svg import legend
from adaptive_depth.sim.report.html.tables import badge, section_table, summary_table
from adaptive_depth.sim.report.html.theme import Palette
from adaptive_depth.sim.report.html.throughput import throughput_figure
from adaptive_depth.sim.report.replay_cells import DEFINITIONS, clean, facts, notes, percent
from adaptive_depth.sim.report.replay_sections import ORIGINS, Section, sections

#: Up to so many sets start unfolded.
SETS_UNFOLDED = 3
_MORE_DEFINITIONS = (
    ("round", "one draft, verify, draft-extend iteration; it yields the accepted drafts and one more token"),
    ("depth", "drafted tokens in the chain of a round (SGLang's speculative_num_steps); 0: no drafting"),
    ("window", "context tokens the draft head attends to; full: all of them"),
    ("lag", "rounds between a verify and the first plan that can use it"),
    ("marginal acceptance", "share of positions whose first j drafts are all accepted"),
    ("conditional acceptance", "share of j-th drafts accepted where all before it were"),
    ("95 % CI", "interval of the gain over best static when whole requests are drawn again, not rounds"),
)


def write_html(report: ReplayReport, path: Path) -> None:
    """Write the page; the same report gives the same bytes. ``OSError`` where it cannot be written."""
    path.write_text(page(report), encoding="utf-8", errors="xmlcharrefreplace")


def page(report: ReplayReport) -> str:
    """The whole document."""
    by_origin = sections(report)
    every = [section for members in by_origin.values() for section in members]
    anchors = {id(section): f"set-{index}" for index, section in enumerate(every, 1)}
    palette = Palette.of(report)
    unfolded = len(every) <= SETS_UNFOLDED
    parts = [_summary(by_origin, anchors, palette)]
    for origin, members in by_origin.items():
        meaning = ORIGINS.get(origin, "of unknown origin")
        parts.append(f"<h2>{escape(clean(origin.capitalize()))} sets</h2>")
        parts.append(f'<p class="quiet">{escape(meaning)}</p>')
        for section in members:
            pictures = _pictures_of(section, report.pictures)
            parts.append(_set(section, anchors[id(section)], pictures, palette, unfolded))
    title = f"Replay of {len(every)} trace {'set' if len(every) == 1 else 'sets'}"
    return _document(title, "".join([*parts, _definitions()]))


def _document(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>{body}</body></html>\n"
    )


def _summary(by_origin: dict[str, list[Section]], anchors: dict[int, str], palette: Palette) -> str:
    """The best policy of each set, and a figure an origin: sets of different origin share none."""
    if not by_origin:
        return "<p>Nothing was replayed.</p>"
    charts = []
    for origin, members in by_origin.items():
        if figure := overview_figure(f"overview-{origin}", members, palette):
            meaning = "gain over the best static depth, with 95 % intervals; arrow: beyond the axis"
            caption = f"{badge(origin)} {meaning}"
            content = f'<figcaption>{caption}</figcaption><div class="scroll">{figure}</div>'
            charts.append(f'<figure class="wide">{content}</figure>')
    return summary_table(by_origin, anchors) + "".join(charts)


def _set(
    section: Section, anchor: str, pictures: SetPictures | None, palette: Palette, unfolded: bool
) -> str:
    """One foldable set; the anchor stands inside, for a browser unfolds what holds a link's target."""
    remarks = "".join(f"<li>{escape(note)}</li>" for note in notes(section))
    about = escape(", ".join(facts(section)))
    content = f'<p class="quiet" id="{anchor}">{about}</p>{section_table(section)}'
    content += f'<ul class="notes">{remarks}</ul>' if remarks else ""
    content += f'<div class="figures">{_figures(section, anchor, pictures, palette)}</div>'
    state = " open" if unfolded else ""
    summary = f"<summary>{_set_title(section)}</summary>"
    return f'<details class="set"{state}>{summary}<div>{content}</div></details>'


def _set_title(section: Section) -> str:
    head, best = section.head, section.best_policy
    gain = f"{best.policy} {percent(best.vs_best_static)} vs best static" if best else "no policy replayed"
    title = f"<b>{escape(clean(head.trace_set))}</b> {badge(head.origin)}"
    return f'{title} <span class="quiet">{escape(clean(gain))}</span>'


def _figures(section: Section, anchor: str, pictures: SetPictures | None, palette: Palette) -> str:
    bars = regret_figure(f"{anchor}-regret", section, palette)
    regret = _figure("Distance to best static and to the clairvoyant", bars)
    if pictures is None:
        return regret
    rates = throughput_figure(f"{anchor}-throughput", section, pictures, palette)
    acceptance = acceptance_figure(f"{anchor}-acceptance", pictures)
    cost = round_cost_figure(f"{anchor}-cost", pictures)
    parts = [
        _figure("Throughput against depth", rates),
        regret,
        _figure("Acceptance by position", acceptance),
        _figure("Cost of a round of one request", cost),
        _paths(section, anchor, pictures),
    ]
    return "".join(parts)


def _figure(title: str, content: str, kind: str = "") -> str:
    return f'<figure class="{kind}"><h3>{escape(title)}</h3>{content}</figure>' if content else ""


def _paths(section: Section, anchor: str, pictures: SetPictures) -> str:
    """Depth over time, one strip a request: the best policy's, and folded those of the others."""
    strips = [
        (path.policy, _strip(f"{anchor}-path-{index}", path, pictures))
        for index, path in enumerate(pictures.paths)
        if path.position
    ]
    if not strips:
        return ""
    best = section.best_policy.policy if section.best_policy else strips[0][0]
    first = [strip for policy, strip in strips if policy == best]
    others = [strip for policy, strip in strips if policy != best]
    content = legend(path_keys(pictures)) + "".join(first)
    if others:
        content += f"<details><summary>Other policies</summary>{''.join(others)}</details>"
    return _figure("Depth over time", content, "wide")


def _strip(name: str, path: RequestPath, pictures: SetPictures) -> str:
    rounds = len(path.position)
    shown = f"first {ROUNDS_SHOWN} of {rounds} rounds" if rounds > ROUNDS_SHOWN else f"{rounds} rounds"
    caption = escape(clean(f"{path.policy} on request {path.request}, {shown}"))
    return f'<figcaption>{caption}</figcaption><div class="scroll">{path_figure(name, path, pictures)}</div>'


def _definitions() -> str:
    words = [*DEFINITIONS, *_MORE_DEFINITIONS]
    items = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in words)
    return f"<h2>What the words mean</h2><dl>{items}</dl>"


def _pictures_of(section: Section, pictures: list[SetPictures]) -> SetPictures | None:
    head = section.head
    for one in pictures:
        if (one.trace_set, one.origin) == (head.trace_set, head.origin) and one.cost in ("", head.cost):
            return one
    return None
