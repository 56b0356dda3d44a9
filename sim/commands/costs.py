"""``sim costs``: what is published about the cost of a round, against the presets fitted to it."""

from __future__ import annotations

import argparse
import json

NAME = "costs"
HELP = "published round times against the fitted cost presets"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--preset", action="append", metavar="NAME", help="preset to show, repeatable (default: every preset)"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="form of the output")


def run(args: argparse.Namespace) -> int:
    """Print the report; an unknown preset is an error that names the nearest known one."""
    from adaptive_depth.controller.presets import PRESETS
    from adaptive_depth.sim.cost_report import cost_report

    report = cost_report(args.preset or list(PRESETS))
    if args.format == "json":
        print(json.dumps(report, indent=2))
        return 0
    from rich.console import Console

    from adaptive_depth.sim.report.costs_table import print_costs

    console = Console()
    if not console.is_terminal:
        console.width = 140  # a file or a pipe has no width of its own; the widest table needs this much
    print_costs(report, console)
    return 0
