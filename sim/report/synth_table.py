"""Prints how synthetic traces compare with what they stand for: published figures, or a recorded trace."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from adaptive_depth.sim.published_check import CheckRow, worst

#: How a figure's name is shown, with its unit.
_QUANTITY = {
    "accept_length": "AL",
    "ms_per_token": "ms/token",
    "window_gain": "native/windowed",
    "speedup": "speed-up over k=0",
    "best_depth": "best k",
}


def print_check(rows: Sequence[CheckRow], form: str) -> None:
    """Print published against synthetic figures as a table or as JSON."""
    if form == "json":
        print(
            json.dumps(
                {"schema": "adaptive-depth-synth-check/1", "rows": [asdict(row) for row in rows]}, indent=2
            )
        )
        return
    table = _table(
        "set (synthetic)", "figure", "draft", "k", "published", "synthetic", "residual", "use", "source"
    )
    for row in rows:
        table.add_row(*_cells(row))
    _console().print(table)
    best = [row for row in rows if row.quantity == "best_depth"]
    hit = sum(row.published == row.synthetic for row in best)
    print(f"best depths reproduced: {hit} of {len(best)}; largest fitted residual: {100 * worst(rows):.1f} %")
    print("published figures are single runs (accept length scatters by 15 % and more) and partly contradict")


def _cells(row: CheckRow) -> tuple[str, ...]:
    digits = 0 if row.quantity == "best_depth" else 2
    residual = _verdict(row) if row.residual is None else f"{100 * row.residual:+.1f} %"
    window = f"w{row.window}" if row.window else "full"
    numbers = (f"{row.published:.{digits}f}", f"{row.synthetic:.{digits}f}", residual)
    use = "fit" if row.fitted else "check"
    return (row.trace_set, _QUANTITY[row.quantity], window, str(row.depth), *numbers, use, row.source)


def _verdict(row: CheckRow) -> str:
    return "same" if row.published == row.synthetic else "[red]OTHER[/red]"


def print_twin(rows: Sequence[tuple[str, float, float]], path: Path, form: str) -> None:
    """Print recorded against fitted figures of a twin, and the file it was written to."""
    if form == "json":
        figures = [
            {"figure": name, "recorded": _number(old), "synthetic": _number(new)} for name, old, new in rows
        ]
        print(
            json.dumps({"schema": "adaptive-depth-synth-fit/1", "path": str(path), "rows": figures}, indent=2)
        )
        return
    table = _table("figure", "recorded", "synthetic")
    for name, old, new in rows:
        table.add_row(name, _text(old), _text(new))
    _console().print(table)
    print(path)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _text(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    text = {"set (synthetic)", "figure", "draft", "use", "source"}
    for column in columns:
        table.add_column(column, justify="left" if column in text else "right", no_wrap=True)
    return table


def _console() -> Console:
    """A console wide enough for the table where the output is a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else 140)
