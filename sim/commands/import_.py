"""``sim import``: recognise foreign acceptance data by content and write it as trace files."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adaptive_depth.sim.import_folder import Report
    from adaptive_depth.traces.importers import Problem

NAME = "import"
HELP = "convert foreign logs and benchmark files into traces"
#: Problems of one file that are printed; the rest are counted.
SHOWN = 50


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("sources", nargs="+", type=Path, metavar="SRC", help="file, or folder to walk")
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help="folder for the *.trace.parquet files"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="form of the summary")


def run(args: argparse.Namespace) -> int:
    """Import everything; 0 if anything usable was written, else 2."""
    from adaptive_depth.sim.import_folder import import_all
    from adaptive_depth.sim.report.progress import Bar

    with Bar("importing", lambda: _total_bytes(args.sources), "bytes") as bar:
        log = _ProblemLog(bar.write, keep=args.format == "json")
        report = import_all(args.sources, args.out, log.notice, bar.advance)
        log.close()
    _warn_of_idle_drafters(report)
    if args.format == "json":
        print(json.dumps(_as_json(report, log.kept), indent=2))
    elif report.sets:
        _print_table(report)
    if not report.sets:
        print(f"sim import: nothing usable in {', '.join(map(str, args.sources))}", file=sys.stderr)
        return 2
    return 0


class _ProblemLog:
    """Prints problems as they come, the first :data:`SHOWN` of each file."""

    def __init__(self, write: Callable[[str], None], keep: bool) -> None:
        self.kept: list[dict[str, Any]] = []
        self._write, self._keep = write, keep
        self._seen: Counter[Path] = Counter()

    def notice(self, problem: Problem, skipped: bool) -> None:
        """Take one problem, or a file that was passed over."""
        self._seen[problem.path] += 1
        if self._seen[problem.path] > SHOWN:
            return
        self._write(f"skipped: {problem}" if skipped else str(problem))
        if self._keep:
            record = {"path": str(problem.path), "line": problem.line, "reason": problem.reason}
            self.kept.append(record | {"skipped": skipped})

    def close(self) -> None:
        """Say how many were not printed."""
        for path, count in self._seen.items():
            if count > SHOWN:
                self._write(f"{path}: and {count - SHOWN:,} more problems")


def _total_bytes(sources: list[Path]) -> int:
    from adaptive_depth.sim.import_folder import source_files

    return sum(_bytes(item) for item in source_files(sources) if isinstance(item, Path))


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone meanwhile; the import will say so
        return 0


def _warn_of_idle_drafters(report: Report) -> None:
    """Accept length 1.0 is a drafter that does not work, and must not pass for hard text."""
    for one in report.sets:
        if one.tally.drafter_idle:
            what = f"{one.tally.accept_length:.3f} tokens a round in {one.tally.rounds:,} rounds"
            print(f"{one.source}: {what}: the drafter seems not to work at all", file=sys.stderr)


def _as_json(report: Report, problems: list[dict[str, Any]]) -> dict[str, Any]:
    sets = [
        {
            "trace_set": one.header.trace_set,
            "kind": one.header.kind,
            "importer": one.importer,
            "source": str(one.source),
            "path": str(one.path),
            "requests": one.tally.requests,
            "items": one.tally.items,
            "accept_length": one.tally.accept_length if one.tally.rounds else None,
            "problems": one.problems,
            "drafter_idle": one.tally.drafter_idle,
        }
        for one in report.sets
    ]
    counts = {"problem_count": report.problems, "skipped_count": report.skipped}
    return {"schema": "adaptive-depth-import/1", "sets": sets, "problems": problems} | counts


def _print_table(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("set", "kind", "importer", box=None, pad_edge=False)
    for name in ("requests", "positions / rounds / intervals", "AL", "problems"):
        table.add_column(name, justify="right")
    for one in report.sets:
        tally = one.tally
        length = f"{tally.accept_length:.3f}" if tally.rounds else "-"
        numbers = (f"{tally.requests:,}", f"{tally.items:,}", length, str(one.problems))
        table.add_row(one.header.trace_set, one.header.kind, one.importer, *numbers)
    width = None if sys.stdout.isatty() else 200
    Console(width=width).print(table)
    print(f"{len(report.sets)} sets written, {report.problems} problems, {report.skipped} files skipped")
