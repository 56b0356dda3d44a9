"""Prints a replay for a person: a section an origin, a table a trace set, then what the words mean."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from adaptive_depth.sim.replay_report import ReplayReport, ReplayRow
from adaptive_depth.sim.report.replay_cells import (
    DEFINITIONS,
    EXTRA,
    Column,
    clean,
    column_title,
    columns,
    facts,
    interval,
    notes,
    percent,
    versus_best_static,
)
from adaptive_depth.sim.report.replay_sections import ORIGINS, Section, sections

#: More sets than this, and a summary follows the tables.
SETS_WITHOUT_SUMMARY = 6
#: The name's column gives way to the figures down to this width.
NARROWEST_NAME = 16
_STYLES = {
    "good": "green",
    "bad": "red",
    "exact": "green",
    "modelled": "yellow",
    "unsupported": "red",
    "recorded": "bold green",
    "imported": "bold cyan",
    "synthetic": "bold yellow",
}


def print_replay(report: ReplayReport, console: Console) -> None:
    """Print every set's table, origin by origin, a summary where there are many sets, and the legend."""
    by_origin = sections(report)
    if not by_origin:
        console.print("Nothing was replayed.")
        return
    for origin, members in by_origin.items():
        _print_heading(origin, console)
        for section in members:
            _print_section(section, console)
    if sum(map(len, by_origin.values())) > SETS_WITHOUT_SUMMARY:
        _print_summary(by_origin, console)
    _print_legend(console)


def _print_heading(origin: str, console: Console) -> None:
    heading = Text.assemble((f"{origin.capitalize()} sets", _STYLES.get(origin, "bold")))
    heading.append(f": {ORIGINS.get(origin, 'of unknown origin')}", "dim")
    console.print(heading)
    console.print()


def _print_section(section: Section, console: Console) -> None:
    head = section.head
    title = Text.assemble((clean(head.trace_set), "bold"), "  ", (head.origin, _STYLES.get(head.origin, "")))
    console.print(title)
    console.print(Text(", ".join(facts(section)), "dim"))
    shown, left_out = _fitting(columns(section), section.rows, console.width)
    console.print(_table(section, shown, console.width))
    for note in notes(section):
        console.print(Padding(Text(note, "dim"), (0, 0, 0, 2)))
    left_out = [column for column in left_out if column.drop_rank < EXTRA]
    if left_out:
        console.print(Text(f"  too narrow for: {', '.join(map(column_title, left_out))}", "dim italic"))
    console.print()


def _fitting(wanted: list[Column], rows: list[ReplayRow], width: int) -> tuple[list[Column], list[Column]]:
    """The columns that fit beside a name of :data:`NARROWEST_NAME`, and those left out."""
    chosen = [column for column in wanted if not column.drop_rank]
    for column in sorted(wanted, key=lambda column: column.drop_rank):
        if column not in chosen and _needed([*chosen, column], rows) <= width:
            chosen.append(column)
    return [c for c in wanted if c in chosen], [c for c in wanted if c not in chosen]


def _needed(shown: list[Column], rows: list[ReplayRow]) -> int:
    return NARROWEST_NAME + sum(1 + _width(column, rows) for column in shown[1:])


def _width(column: Column, rows: Sequence[ReplayRow]) -> int:
    heading = column.heading.split("\n")
    return max(len(text) for text in [*heading, *map(column.text, rows)])


def _table(section: Section, shown: list[Column], width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    name_width = NARROWEST_NAME + max(0, width - _needed(shown, section.rows))
    table.add_column("\npolicy", overflow="fold", max_width=name_width)
    for column in shown[1:]:
        table.add_column(column.heading, justify="right", no_wrap=True)
    _add_rows(table, shown, section.policies, section.best_policy, "")
    for label, rows in (
        ("as played", section.played),
        ("static depths", section.ladder),
        ("in hindsight", section.hindsight),
    ):
        if rows:
            table.add_row(Text(label, "italic"))
        _add_rows(table, shown, rows, None, "dim" if label == "static depths" else "")
    return table


def _add_rows(
    table: Table, shown: list[Column], rows: list[ReplayRow], best: ReplayRow | None, style: str
) -> None:
    for row in rows:
        cells = [Text(column.text(row), _STYLES.get(column.tone(row), "")) for column in shown]
        table.add_row(*cells, style="bold" if row is best else style)


def _print_summary(by_origin: dict[str, list[Section]], console: Console) -> None:
    console.print(Text("Best policy of each set", "bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("\nset", "\ncost", "best\npolicy"):
        table.add_column(heading, overflow="fold")
    for heading in ("vs best\nstatic", "\n95 % CI", "\nevidence"):
        table.add_column(heading, justify="right", no_wrap=True)
    for origin, members in by_origin.items():
        table.add_row(Text(clean(origin), _STYLES.get(origin, "")))
        for section in members:
            table.add_row(*_summary_cells(section))
    console.print(table)
    console.print()


def _summary_cells(section: Section) -> list[Text]:
    head, best = section.head, section.best_policy
    name = [Text(f"  {clean(head.trace_set)}"), Text(clean(head.cost))]
    if best is None:
        return [*name, Text("none could be replayed", "red")]
    gain = Text(percent(best.vs_best_static), _STYLES.get(versus_best_static(best), ""))
    evidence = Text(best.evidence, _STYLES[best.evidence])
    return [*name, Text(clean(best.policy)), gain, Text(interval(best)), evidence]


def _print_legend(console: Console) -> None:
    for word, meaning in DEFINITIONS:
        console.print(Text.assemble((word, "bold"), ": ", (meaning, "dim")))
