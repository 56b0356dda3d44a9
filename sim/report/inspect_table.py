"""Inspections as text for a person: origin first, then one small table a question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from adaptive_depth.sim.inspection import (
    DenseFindings,
    FixedDepth,
    Inspection,
    IntervalsFindings,
    RoundsFindings,
)
from adaptive_depth.sim.inspection import Group as RoundGroup
from adaptive_depth.sim.round_tally import PositionAcceptance, RoundStatistics
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.store import TraceProblem

UNKNOWN = "unknown"
#: Columns of text where the output is not a terminal.
PLAIN_WIDTH = 120
_ORIGIN_STYLE = {"synthetic": "bold yellow", "recorded": "bold green", "imported": "bold cyan"}
_CORRELATION = ("lag-1 pooled", "lag-1 within", "AL p10", "AL p90")


class TableReport:
    """Prints each inspection as it comes."""

    def __init__(self) -> None:
        """Print to standard output."""
        self._console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)

    def add(
        self, path: Path, header: TraceHeader, inspection: Inspection, problems: Sequence[TraceProblem]
    ) -> None:
        """Print one trace."""
        self._console.print(render(path, header, inspection, len(problems)))

    def close(self) -> None:
        """Nothing is held back."""


def render(path: Path, header: TraceHeader, inspection: Inspection, problems: int = 0) -> RenderableType:
    """All that an inspection found, as rich text."""
    findings = inspection.findings
    if isinstance(findings, DenseFindings):
        summary, tables = _dense_summary(findings), _dense_tables(findings)
    elif isinstance(findings, RoundsFindings):
        summary, tables = _rounds_summary(findings), _rounds_tables(findings)
    else:
        summary, tables = _intervals_summary(findings), _intervals_tables(findings)
    counts = (
        f"{_count(inspection.requests, 'log stream' if header.kind == 'intervals' else 'request')}, {summary}"
    )
    counts += f"; {_count(problems, 'problem')}" if problems else ""
    return Group(_title(header), *_origin_lines(path, header), Text(counts), _side_by_side(tables), Text())


def _title(header: TraceHeader) -> Text:
    order = "" if header.ordered else ", order of rounds unknown"
    style = _ORIGIN_STYLE[header.origin]
    return Text.assemble((header.trace_set, "bold"), "  ", (header.origin, style), f"  {header.kind}{order}")


def _origin_lines(path: Path, header: TraceHeader) -> list[Text]:
    temperature = UNKNOWN if header.temperature is None else f"{header.temperature:g}"
    made_by = f"model {header.model}, drafter {header.drafter}, engine {header.engine}"
    made_on = f"hardware {header.hardware}, sampler {header.sampler}, temperature {temperature}"
    source = f"{path}  from {header.provenance}, licence {header.licence}"
    lines = [source, f"{made_by}, {made_on}", header.notes]
    return [Text(line, "dim") for line in lines if line]


def _side_by_side(tables: Sequence[Table]) -> Columns:
    return Columns([table for table in tables if table.row_count], padding=(1, 4), expand=False)


def _dense_summary(f: DenseFindings) -> str:
    reference = f"depth {f.reference_depth}, {_window(f.reference_window)}"
    return (
        f"{f.positions:,} positions; reference: {reference}; "
        f"positions at the cap: {_share(f.at_cap)}; in a repetition loop: {_share(f.looping)}"
    )


def _dense_tables(f: DenseFindings) -> list[Table]:
    fixed = _table("Rounds at a fixed depth", "depth", "rounds", "AL", "at cap", *_CORRELATION)
    for row in f.at_fixed_depth:
        fixed.add_row(*_fixed_row(row))
    windows = _table("Draft windows", "window", "rounds", "AL", "positions changed")
    for window in f.by_window:
        cells = (_window(window.window), f"{window.rounds:,}", _number(window.accept_length))
        windows.add_row(*cells, _share(window.changed))
    calibration = _table("Confidence of the first draft", "from", "to", "positions", "stated", "accepted")
    for b in f.calibration:
        cells = (f"{b.low:.1f}", f"{b.high:.1f}", f"{b.positions:,}")
        calibration.add_row(*cells, _share(b.confidence), _share(b.accepted))
    context, workload = _groups("Context", f.by_context), _groups("Workload", f.by_workload)
    return [
        fixed,
        _acceptance("Acceptance by position", f.acceptance),
        windows,
        context,
        workload,
        calibration,
    ]


def _fixed_row(row: FixedDepth) -> tuple[str, ...]:
    s = row.statistics
    return (f"{row.depth}", f"{s.rounds:,}", _number(s.accept_length), _share(row.at_cap), *_correlation(s))


def _rounds_summary(f: RoundsFindings) -> str:
    s = f.statistics
    return (
        f"{s.rounds:,} rounds, {f.output_tokens:,} output tokens; AL {_number(s.accept_length)}, "
        f"rounds at the cap: {_share(f.at_cap)}; depth known for {f.rounds_of_known_depth:,}, "
        f"seconds for {f.rounds_with_seconds:,} rounds"
    )


def _rounds_tables(f: RoundsFindings) -> list[Table]:
    correlation = _table("Accept length of requests", *_CORRELATION, "requests of 20+ rounds")
    correlation.add_row(*_correlation(f.statistics), f"{f.statistics.long_requests:,}")
    accepted = _table("Accepted drafts", "accepted", "rounds", "share")
    for count, rounds in enumerate(f.accepted_histogram):
        accepted.add_row(f"{count}", f"{rounds:,}", _share(rounds / f.statistics.rounds))
    groups = [("Depth", f.by_depth), ("Window", f.by_window), ("Context", f.by_context)]
    tables = [_groups(name, rows) for name, rows in [*groups, ("Workload", f.by_workload)]]
    return [correlation, _acceptance("Acceptance by position", f.acceptance), accepted, *tables]


def _intervals_summary(f: IntervalsFindings) -> str:
    over_rounds = "" if f.rounds is None else f", over {f.rounds:,} rounds {_number(f.accept_length)}"
    return (
        f"{f.intervals:,} intervals, {f.speculating:,} with an accept length; AL over intervals "
        f"{_number(f.accept_length_mean)} (p10 {_number(f.accept_length_p10)}, "
        f"p90 {_number(f.accept_length_p90)}){over_rounds}; "
        f"median {_number(f.tokens_per_second_median, 1)} tokens/s"
    )


def _intervals_tables(f: IntervalsFindings) -> list[Table]:
    positions = _table("Acceptance by position", "position", "marginal", "conditional")
    for j, marginal in enumerate(f.acceptance):
        before = f.acceptance[j - 1] if j else 1.0
        conditional = marginal / before if marginal is not None and before else None
        positions.add_row(f"{j + 1}", _share(marginal), _share(conditional))
    tables = [positions]
    for name, rows in (("Depth", f.by_depth), ("Context of a request", f.by_context)):
        table = _table(name, name.lower(), "intervals", "mean AL", "mean tokens/s")
        for row in rows:
            rate = _number(row.tokens_per_second_mean, 1)
            table.add_row(row.name, f"{row.intervals:,}", _number(row.accept_length_mean), rate)
        tables.append(table)
    return tables


def _acceptance(title: str, rows: Sequence[PositionAcceptance]) -> Table:
    table = _table(title, "position", "reached", "accepted", "at least", "marginal", "conditional")
    for p in [row for row in rows if row.reached]:
        counts = (f"{p.position}", f"{p.reached:,}", f"{p.accepted:,}", f"{p.censored:,}")
        table.add_row(*counts, _share(p.marginal), _share(p.conditional))
    return table


def _groups(title: str, rows: Sequence[RoundGroup]) -> Table:
    table = _table(title, title.lower(), "requests", "rounds", "AL")
    for row in rows:
        name = _window(int(row.name)) if title == "Window" else row.name
        table.add_row(
            Text(name or UNKNOWN), f"{row.requests:,}", f"{row.rounds:,}", _number(row.accept_length)
        )
    return table


def _correlation(s: RoundStatistics) -> tuple[str, ...]:
    correlations = (_number(s.autocorrelation_pooled, 2), _number(s.autocorrelation_within, 2))
    return (*correlations, _number(s.request_mean_p10, 2), _number(s.request_mean_p90, 2))


def _table(title: str, first: str, *rest: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(first)
    for name in rest:
        table.add_column(name, justify="right")
    return table


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _window(window: int) -> str:
    return f"{window:,}" if window else "full"


def _number(value: float | None, digits: int = 3) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:.1f} %"
