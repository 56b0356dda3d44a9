"""``sim replay``: recorded traces through depth policies, each against the best it could have been."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptive_depth.sim.replay import ReplayJob
    from adaptive_depth.sim.replay_report import ReplayReport

NAME = "replay"
HELP = (
    "replay traces through depth policies and measure each against the best static depth and the clairvoyant"
)

#: Rules replayed where none is named; ``static`` is the ladder.
LADDER_RULE = "static"
#: What ``--context own`` is parsed to.
OWN = 0
#: Width of the table where there is no terminal to ask.
PLAIN_WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("paths", nargs="+", type=Path, metavar="PATH", help="trace file, or folder to search")
    add(
        "--policy",
        action="append",
        metavar="NAME[:PARAMS]|FILE",
        help="rule (static:3, sglang-ema:FILE, marginal:switch_cost=0.1) or policy file; default: every rule",
    )
    add(
        "--cost", default="auto", metavar="PRESET|FILE", help="preset, cost file or table (default: by model)"
    )
    add(
        "--context",
        type=_context,
        metavar="N|own",
        help="price every prompt at N tokens; a preset prices short prompts at 1.04M, unless 'own'",
    )
    add("--batch", type=_count, default=1, metavar="B", help="requests that share each round (default 1)")
    add(
        "--lag",
        type=int,
        choices=range(4),
        default=1,
        help="rounds between a verify and the plan that uses it",
    )
    add(
        "--lanes",
        type=_count,
        default=0,
        metavar="N",
        help="servers side by side (default: 16 requests each)",
    )
    add("--window", type=_list, metavar="W[,W]", help="candidate draft windows, 0 = full (default: recorded)")
    add("--depths", type=_list, metavar="K[,K]", help="candidate depths (default 0..8, as recorded)")
    add("--seed", type=int, default=0, help="seed of intervals and of modelled rounds (default 0)")
    for kind in ("json", "csv", "html"):
        add(f"--{kind}", type=Path, metavar="F", help=f"also write the report as {kind.upper()} to F")


def run(args: argparse.Namespace) -> int:
    """Replay and report; 0 if any row could be replayed, else 2."""
    from adaptive_depth.sim.replay import replay_paths
    from adaptive_depth.sim.report.progress import Bar

    job = _job(args)
    with Bar("replay", lambda: _work(args.paths, len(job.policies))) as bar:
        report = replay_paths(args.paths, job, lambda line: bar.write(f"sim replay: {line}"), bar.advance)
    if not report.rows:
        print("sim replay: nothing could be replayed", file=sys.stderr)
        return 2
    _write(report, args)
    return 0 if any(row.evidence != "unsupported" for row in report.rows) else 2


def _job(args: argparse.Namespace) -> ReplayJob:
    from adaptive_depth.controller.build import DEFAULT_COST, read_policy
    from adaptive_depth.controller.cost_file import load_cost
    from adaptive_depth.policies.registry import entries
    from adaptive_depth.sim.engine.dense import ReplayOptions
    from adaptive_depth.sim.replay import AUTO, ReplayJob

    names = args.policy or [entry.name for entry in entries() if entry.name != LADDER_RULE]
    return ReplayJob(
        policies=tuple((name, read_policy(name)) for name in names),
        cost_name=args.cost,
        cost=load_cost(DEFAULT_COST if args.cost == AUTO else args.cost),
        options=ReplayOptions(batch=args.batch, lanes=args.lanes, lag=args.lag),
        context=args.context or None,
        own_context=args.context == OWN,
        depths=args.depths,
        windows=args.window,
        seed=args.seed,
    )


def _write(report: ReplayReport, args: argparse.Namespace) -> None:
    from rich.console import Console

    from adaptive_depth.sim.report.html.page import write_html
    from adaptive_depth.sim.report.replay_csv import to_csv
    from adaptive_depth.sim.report.replay_json import to_json
    from adaptive_depth.sim.report.replay_table import print_replay
    from adaptive_depth.traces.errors import ConfigError

    console = Console()
    print_replay(report, console if console.is_terminal else Console(width=PLAIN_WIDTH))
    try:
        for path in filter(None, (args.json, args.csv, args.html)):
            path.parent.mkdir(parents=True, exist_ok=True)
        if args.json:
            args.json.write_text(to_json(report), encoding="utf-8")
        if args.csv:
            args.csv.write_text(to_csv(report), encoding="utf-8", newline="")
        if args.html:
            write_html(report, args.html)
    except OSError as error:
        raise ConfigError(f"cannot write {error.filename}: {error.strerror}") from None


def _work(paths: list[Path], policies: int) -> int:
    """Tokens that all policies together replay."""
    from adaptive_depth.sim.trace_input import open_traces
    from adaptive_depth.traces.records import IntervalsBlock

    blocks = (block for reader in open_traces(paths, lambda line: None) for block in reader.blocks())
    return policies * sum(int(b.output_tokens.sum()) for b in blocks if not isinstance(b, IntervalsBlock))


def _count(text: str) -> int:
    value = int(text.replace("_", ""))
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return value


def _context(text: str) -> int:
    return OWN if text == "own" else _count(text)


def _list(text: str) -> tuple[int, ...]:
    try:
        values = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers") from None
    if min(values) < 0 or len(set(values)) != len(values):
        raise argparse.ArgumentTypeError(f"{text!r} must hold distinct numbers from 0")
    return values
