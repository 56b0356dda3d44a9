"""Prints a cost fit: residuals by depth, coefficients, and what the rounds did not determine."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from adaptive_depth.policies.cost_model import COEFFICIENTS, LinearCost
from adaptive_depth.sim.fit_cost import CostFit


def print_fit(fit: CostFit, left_out: Counter[str], console: Console) -> None:
    """Print everything a person needs to trust the fit or not."""
    r_squared = "unknown (all rounds took the same)" if fit.r_squared is None else f"{fit.r_squared:.4f}"
    console.print(_residuals(fit))
    console.print(
        f"{fit.rounds} rounds fitted, {fit.rejected} warm-up or stall rounds rejected, R² {r_squared}"
    )
    for reason, count in left_out.items():
        if count and reason != "rounds":
            console.print(f"  {count} {reason}", highlight=False)
    console.print(_coefficients(fit.cost))
    _undetermined(fit, console)


def _residuals(fit: CostFit) -> Table:
    table = Table(title="Median round by depth", title_justify="left", box=None, pad_edge=False)
    for column in ("depth", "rounds", "measured ms", "fitted ms", "residual %"):
        table.add_column(column, justify="right")
    for row in fit.residuals:
        cells = (f"{row.measured_ms:.3f}", f"{row.fitted_ms:.3f}", f"{row.residual_percent:+.1f}")
        table.add_row(str(row.depth), str(row.rounds), *cells)
    return table


def _coefficients(cost: LinearCost) -> str:
    values = ((name, getattr(cost, name)) for name in COEFFICIENTS)
    return "seconds: " + ", ".join(f"{name} {value:.3g}" for name, value in values if value)


def _undetermined(fit: CostFit, console: Console) -> None:
    if fit.collinear:
        names = ", ".join(fit.collinear)
        console.print(f"not identifiable in these rounds, set to 0: {names}", highlight=False)
        console.print("  (vary depth, batch, context and window in the recording to tell them apart)")
    if fit.insignificant:
        console.print(f"within noise, set to 0: {', '.join(fit.insignificant)}", highlight=False)
