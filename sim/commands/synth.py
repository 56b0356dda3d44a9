"""``sim synth``: synthetic traces from published figures, from a recorded trace, or as simple as can be."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "synth"
HELP = "make synthetic traces: the published 1M sets, a twin of a trace, or simple ones"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--set",
        action="append",
        metavar="NAME",
        help="'published' (default: every 1M set) or one set's name; repeatable",
    )
    what.add_argument("--fit", type=Path, metavar="FILE", help="a twin of this dense or rounds trace")
    what.add_argument("--stationary", action="store_true", help="one acceptance throughout (--mean-accepted)")
    what.add_argument(
        "--phases", metavar="T:A,...", help="T tokens with mean accepted A, then the next: 1000:0,1000:4"
    )
    what.add_argument(
        "--check",
        nargs="?",
        const=Path(),
        type=Path,
        metavar="DIR",
        help="compare the 1M sets (in DIR, default: as shipped) with the published figures",
    )
    what.add_argument(
        "--calibrate",
        type=Path,
        metavar="JSON",
        help="fit the 1M sets' parameters again and write them (minutes)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the *.trace.parquet files")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of every draw (default 1, the shipped files')"
    )
    parser.add_argument("--requests", type=int, metavar="N", help="requests of a twin or a simple trace")
    parser.add_argument(
        "--tokens", type=int, default=512, metavar="M", help="output tokens with --stationary"
    )
    parser.add_argument(
        "--mean-accepted", type=float, default=2.0, metavar="A", help="drafts accepted at --k-max"
    )
    parser.add_argument("--k-max", type=int, default=7, metavar="K", help="chain cap of a simple trace")
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="form of --check and --fit"
    )


def run(args: argparse.Namespace) -> int:
    """Write or check; the paths written go to stdout, one a line."""
    from adaptive_depth.traces.errors import ConfigError

    if args.check is not None:
        return _check(args)
    if args.calibrate is not None:
        return _calibrate(args)
    if args.out is None:
        raise ConfigError("--out DIR says where the traces go; it is needed here")
    if args.seed < 0:
        raise ConfigError(f"--seed must be 0 or above, got {args.seed}")
    if args.fit is not None:
        return _fit(args)
    if args.stationary or args.phases:
        return _simple(args)
    return _published(args)


def _published(args: argparse.Namespace) -> int:
    from adaptive_depth.sim.synth_files import write_published

    for path in write_published(args.out, args.set or ["published"], args.seed):
        print(path)
    return 0


def _simple(args: argparse.Namespace) -> int:
    from adaptive_depth.sim.synth_files import parse_phases, write_simple

    levels = parse_phases(args.phases) if args.phases else [(args.tokens, args.mean_accepted)]
    requests = 64 if args.requests is None else args.requests
    print(write_simple(args.out, levels, requests, args.k_max, args.seed))
    return 0


def _fit(args: argparse.Namespace) -> int:
    from adaptive_depth.sim.report.synth_table import print_twin
    from adaptive_depth.sim.synth_twin import compare, fit_file, write_twin

    twin = fit_file(args.fit, args.seed, _complain)
    path = write_twin(twin, args.out, args.requests, args.seed)
    print_twin(compare(twin, args.seed), path, args.format)
    return 0


def _check(args: argparse.Namespace) -> int:
    from adaptive_depth.sim.report.synth_table import print_check
    from adaptive_depth.sim.synth_files import SHIPPED, check_folder

    print_check(check_folder(args.check if args.check != Path() else SHIPPED), args.format)
    return 0


def _calibrate(args: argparse.Namespace) -> int:
    from adaptive_depth.sim.published_calibration import as_json, calibrate
    from adaptive_depth.traces.errors import ConfigError

    if not args.calibrate.parent.is_dir():
        raise ConfigError(f"{args.calibrate} cannot be written: no folder {args.calibrate.parent}")
    args.calibrate.write_text(as_json(calibrate()), encoding="utf-8")
    return 0


def _complain(line: str) -> None:
    print(f"sim synth: {line}", file=sys.stderr)
