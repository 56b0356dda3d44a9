"""``sim fit-cost``: fit a cost file to the round times of traces."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptive_depth.controller.cost_file import CostFile
    from adaptive_depth.sim.fit_cost import CostFit
    from adaptive_depth.sim.round_samples import RoundSamples
    from adaptive_depth.traces.store import TraceReader

NAME = "fit-cost"
HELP = "fit the cost of a round to traces with round times and write it as a cost file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace file, or folder to search")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="cost file to write (JSON)")
    parser.add_argument(
        "--extend-windowed",
        action="store_true",
        help="draft-extend reads only sink + window (patched engine)",
    )
    parser.add_argument(
        "--no-drafter-at-zero",
        action="store_true",
        help="depth 0 ran without a drafter, so it pays no extend",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="form of the output")


def run(args: argparse.Namespace) -> int:
    """Fit, write the cost file, and print residuals; too few usable rounds are an error."""
    from adaptive_depth.sim.fit_cost import fit_cost
    from adaptive_depth.sim.trace_input import open_traces
    from adaptive_depth.traces.errors import CostError

    samples, counts, readers = _timed(open_traces(args.paths, _complain))
    fit = fit_cost(samples, args.extend_windowed, not args.no_drafter_at_zero)
    file = _file(args.out, fit, readers, samples)
    try:
        args.out.write_text(file.model_dump_json(indent=2) + "\n", "utf-8")
    except OSError as error:
        raise CostError(f"{args.out}: cannot be written: {error.strerror}") from None
    if args.format == "json":
        print(file.model_dump_json(indent=2))
        return 0
    from rich.console import Console

    from adaptive_depth.sim.report.fit_table import print_fit

    print_fit(fit, counts, Console())
    print(f"wrote {args.out}")
    return 0


def _timed(readers: Iterable[TraceReader]) -> tuple[RoundSamples, Counter[str], list[TraceReader]]:
    """The timed rounds of every trace, what was left out, and the traces that had any."""
    from adaptive_depth.sim.round_samples import collect, joined

    parts, used, counts = [], [], Counter[str]()
    for reader in readers:
        samples, left_out = collect((reader.header, block) for block in reader.blocks())
        for problem in reader.problems:
            _complain(str(problem))
        counts.update(left_out)
        if len(samples):
            parts.append(samples)
            used.append(reader)
    return joined(parts), counts, used


def _file(out: Path, fit: CostFit, readers: list[TraceReader], samples: RoundSamples) -> CostFile:
    from adaptive_depth.controller.cost_file import cost_file

    sources = ", ".join(reader.path.name for reader in readers)
    machines = ", ".join(sorted({f"{r.header.model} on {r.header.hardware}" for r in readers}))
    spans = ", ".join(
        f"{name} {values.min()}..{values.max()}"
        for name, values in (("depth", samples.depth), ("batch", samples.batch), ("context", samples.context))
    )
    return cost_file(
        out.stem,
        fit.cost,
        f"fitted to {fit.rounds} rounds of {sources} ({machines}); {spans}",
        fit.residuals,
        fit.r_squared,
        [*fit.collinear, *fit.insignificant],
    )


def _complain(line: str) -> None:
    print(f"sim fit-cost: {line}", file=sys.stderr)
