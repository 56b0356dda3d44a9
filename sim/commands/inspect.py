"""``sim inspect``: what trace files hold and what they say about acceptance."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "inspect"
HELP = "describe traces: accept length, acceptance by position, correlation, context bands, windows"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace file, or folder to search")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="form of the result")


def run(args: argparse.Namespace) -> int:
    """Inspect every trace; 0 if any held a usable request, else 2."""
    from adaptive_depth.sim.inspect import inspect_blocks
    from adaptive_depth.sim.report.inspect_json import JsonReport
    from adaptive_depth.sim.report.inspect_table import TableReport
    from adaptive_depth.sim.trace_input import open_traces

    report = JsonReport() if args.format == "json" else TableReport()
    usable = 0
    for reader in open_traces(args.paths, _complain):
        inspection = inspect_blocks(reader.header, reader.blocks())
        for problem in reader.problems:
            _complain(str(problem))
        report.add(reader.path, reader.header, inspection, reader.problems)
        usable += inspection.requests
    report.close()
    return 0 if usable else 2


def _complain(line: str) -> None:
    print(f"sim inspect: {line}", file=sys.stderr)
