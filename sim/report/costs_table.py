"""Prints a cost report as tables: published against fitted, rounds by depth, implied accept lengths."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from adaptive_depth.sim.report.replay_cells import token_count


def print_costs(report: dict[str, Any], console: Console) -> None:
    """Print every preset of a :func:`~adaptive_depth.sim.cost_report.cost_report`."""
    for entry in report["presets"]:
        console.print(_anchors(entry))
        console.print(_rounds(entry))
        console.print(_best(entry))
    console.print("[bold]Published figures that cannot all hold[/bold]")
    for line in report["contradictions"]:
        console.print(f"  {line}", highlight=False)


def _table(title: str, columns: tuple[str, ...], left: int) -> Table:
    """A plain table whose first ``left`` columns are text."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < left else "right", no_wrap=True)
    return table


def _window(window: int) -> str:
    return f"w{window}" if window else "full"


def _anchors(entry: dict[str, Any]) -> Table:
    columns = ("figure", "source", "use", "published", "fitted", "residual", "%")
    table = _table(f"{entry['name']}: published against fitted", columns, 3)
    for row in entry["anchors"]:
        ranged = row["published"] is None
        residual = "" if ranged else f"{row['residual']:+.2f}"
        percent = "" if ranged else f"{row['residual_percent']:+.1f}"
        verdict = ("inside" if row["inside"] else "[red]OUTSIDE[/red]") if ranged else residual
        table.add_row(
            _figure(row),
            row["source"],
            row["role"],
            _published(row),
            f"{row['fitted']:.2f}",
            verdict,
            percent,
        )
    return table


def _figure(row: dict[str, Any]) -> str:
    """What an anchor measures and where, in a few words."""
    name = row["quantity"].replace("_", " ")
    depth = f" k={row['depth']}" if row["quantity"] in ("step", "round_to_verify", "batch_to_one") else ""
    batch = f" B={row['batch']}" if row["batch"] > 1 else ""
    return f"{name}{depth} {token_count(row['context'])} {_window(row['window'])}{batch}"


def _published(row: dict[str, Any]) -> str:
    """A value with its unit, or a range."""
    unit = "" if row["unit"] == "ratio" else " ms"
    if row["published"] is not None:
        return f"{row['published']:.2f}{unit}"
    low = "" if row["low"] is None else f"{row['low']:.2f}"
    return f"{low}..{row['high']:.2f}{unit}"


def _rounds(entry: dict[str, Any]) -> Table:
    depths = tuple(f"k={k}" for k in range(len(entry["rounds"][0]["ms"])))
    title = f"{entry['name']}: ms of a round by depth (one request; below 261K extrapolated)"
    table = _table(title, ("context", "draft", *depths, "per draft"), 2)
    for row in entry["rounds"]:
        cells = (f"{ms:.2f}" for ms in row["ms"])
        table.add_row(
            token_count(row["context"]), _window(row["window"]), *cells, f"{row['marginal_ms'][-1]:.2f}"
        )
    return table


def _best(entry: dict[str, Any]) -> Table:
    columns = ("task", "draft", "best k", "ms/token", "implied AL", "possible")
    table = _table(f"{entry['name']}: published best depths at 1.04M", columns, 2)
    for row in entry["best_depths"]:
        cells = (str(row["depth"]), f"{row['ms_per_token']:.2f}", f"{row['accept_length']:.2f}")
        table.add_row(
            row["task"], _window(row["window"]), *cells, "yes" if row["possible"] else "[red]no[/red]"
        )
    return table
