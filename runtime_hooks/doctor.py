"""``adaptive-depth doctor``: would adaptive depth run here, with these launch arguments, at what cost."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

NAME = "doctor"
_STAGES = ("verify", "extend", "draft", "total")
HELP = "check the installation, the hooks and, after --, the arguments of a launch"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--format", choices=("table", "json"), default="table", help="form of the report")
    parser.add_argument(
        "--offline",
        action="store_true",
        help="do not let SGLang itself settle the launch arguments, which takes some seconds",
    )
    parser.add_argument(
        "launch",
        nargs=argparse.REMAINDER,
        metavar="-- ARGUMENTS",
        help="arguments of sglang.launch_server to check",
    )


def run(args: argparse.Namespace) -> int:
    """Print the report; 0 where everything is fine, 1 where something is not."""
    from adaptive_depth.runtime_hooks import checkup

    here = checkup.installation()
    argv = args.launch[1:] if args.launch[:1] == ["--"] else args.launch
    ask = not args.offline and here["sglang"] is not None and not here["problems"]
    launch = checkup.launch(argv, ask) if argv else None
    if args.format == "json":
        document = {"schema": "adaptive-depth-doctor/1", "installation": here, "launch": launch}
        print(json.dumps(document, indent=2))
    else:
        print("\n".join([*_installation(here), *(_launch(launch) if launch else ())]))
    return int(bool(here["problems"] or (launch and launch["refused"])))


def _installation(here: dict[str, Any]) -> Iterator[str]:
    yield f"adaptive-depth   {here['adaptive_depth']} on Python {here['python']}"
    tested = ", ".join(here["tested_with"])
    yield f"sglang           {here['sglang'] or 'not installed'} (tested with {tested})"
    yield f"plugin           {'registered' if here['plugin_registered'] else 'not registered'}"
    hooks = here["hooks"]
    matched = f"{hooks['matched']} of {hooks['checked']} as tested" if hooks["checked"] else "not checked"
    yield f"hook targets     {matched}"
    for problem in here["problems"]:
        yield f"  problem: {problem}"


def _launch(launch: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield f"launch           {'refused' if launch['refused'] else 'nothing refused'}" + (
        "" if launch["checked_by_sglang"] else " (as far as the arguments alone tell)"
    )
    for reason in launch["refused"]:
        yield f"  refused: {reason}"
    for note in launch["notes"]:
        yield f"  note: {note}"
    if "policy" in launch:
        yield f"policy           {launch['policy']}"
        yield f"depths           {_list(launch['depths'])}, starting at {launch['start_depth']}"
        windows = _list("full" if window == 0 else window for window in launch["windows"])
        yield f"draft windows    {windows}, sink {launch['sink']}, draft-extend {_extend(launch)}"
        yield from _buffers(launch["buffers"])


def _extend(launch: dict[str, Any]) -> str:
    return "windowed too" if launch["extend_window"] else "over the full context"


def _buffers(buffers: dict[str, Any]) -> Iterator[str]:
    assumed = buffers["assumed"]
    of = {
        name: f"{buffers[name]:,}{' (assumed)' if name in assumed else ''}" for name in ("batch", "context")
    }
    yield f"buffers          estimated for batch {of['batch']}, context {of['context']}, Triton, CUDA graphs"
    yield f"  {'depth':>5} {'token rows':>11} {'verify':>10} {'extend':>10} {'draft':>10} {'total':>10}"
    for tier in buffers["tiers"]:
        sizes = " ".join(f"{_size(tier[f'{name}_bytes']):>10}" for name in _STAGES)
        yield f"  {tier['depth']:>5} {tier['rows']:>11,} {sizes}"
    if (shared := buffers["shared_logits_bytes"]) is not None:
        yield f"  logits shared by all tiers: {_size(shared)}"


def _list(values: Any) -> str:  # noqa: ANN401
    return ", ".join(map(str, values))


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"
