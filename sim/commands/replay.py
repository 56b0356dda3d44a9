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
#: Bounds of what can be asked for: as many requests as a table may price, any context and window of a trace.
MAX_BATCH, MAX_CONTEXT, MAX_WINDOW = 1 << 16, 1 << 40, (1 << 31) - 1
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
    add("--batch", type=_batch, default=1, metavar="B", help="requests that share each round (default 1)")
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
    add(
        "--window",
        type=_windows,
        metavar="W[,W]",
        help="candidate draft windows, 0 = full (default: recorded)",
    )
    add("--depths", type=_list, metavar="K[,K]", help="candidate depths (default 0..8, as recorded)")
    add("--seed", type=_seed, default=0, help="seed of intervals and of modelled rounds (default 0)")
    for kind in ("json", "csv", "html"):
        add(f"--{kind}", type=Path, metavar="F", help=f"also write the report as {kind.upper()} to F")


def run(args: argparse.Namespace) -> int:
    """Replay and report; 0 if any row could be replayed, else 2."""
    from adaptive_depth.sim.replay import replay_paths
    from adaptive_depth.sim.report.progress import Bar

    _refuse_overwriting(args)
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
    for path, write in (
        (args.json, lambda: args.json.write_text(to_json(report), encoding="utf-8")),
        (args.csv, lambda: args.csv.write_text(to_csv(report), encoding="utf-8", newline="")),
        (args.html, lambda: write_html(report, args.html)),
    ):
        try:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                write()
        except OSError as error:
            raise ConfigError(f"cannot write {error.filename or path}: {error.strerror}") from None


def _refuse_overwriting(args: argparse.Namespace) -> None:
    """A report may replace neither another one nor a trace that is read; found out before the long work."""
    from adaptive_depth.traces.errors import ConfigError

    taken = {path.resolve() for path in args.paths}
    for path in filter(None, (args.json, args.csv, args.html)):
        if path.is_file() or not path.exists():  # /dev/stdout may well take two
            if path.resolve() in taken:
                raise ConfigError(f"{path} is named twice: as a trace to read or as another report")
            taken.add(path.resolve())


def _work(paths: list[Path], policies: int) -> int:
    """Tokens that all policies together replay."""
    from adaptive_depth.sim.trace_input import open_traces
    from adaptive_depth.traces.records import IntervalsBlock

    blocks = (block for reader in open_traces(paths, lambda line: None) for block in reader.blocks())
    return policies * sum(int(b.output_tokens.sum()) for b in blocks if not isinstance(b, IntervalsBlock))


def _count(text: str, least: int = 1, most: int | None = None) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{text} is below {least}")
    if most is not None and value > most:
        raise argparse.ArgumentTypeError(f"{text} is above {most:,}")
    return value


def _batch(text: str) -> int:
    return _count(text, most=MAX_BATCH)


def _seed(text: str) -> int:
    return _count(text, least=0)


def _context(text: str) -> int:
    return OWN if text == "own" else _count(text, most=MAX_CONTEXT)


def _list(text: str) -> tuple[int, ...]:
    try:
        values = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers") from None
    if min(values) < 0 or len(set(values)) != len(values):
        raise argparse.ArgumentTypeError(f"{text!r} must hold distinct numbers from 0")
    return values


def _windows(text: str) -> tuple[int, ...]:
    values = _list(text)
    if max(values) > MAX_WINDOW:
        raise argparse.ArgumentTypeError(f"{max(values)} is above {MAX_WINDOW:,}")
    return values
