"""``adaptive-depth watch``: every decision of a running server, in the terminal."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from adaptive_depth.traces.errors import ConfigError

if TYPE_CHECKING:
    from adaptive_depth.runtime_hooks.live.driver import Source

NAME = "watch"
HELP = "watch a running server's depth and window decisions"
#: Where a decision log goes unless a flag says otherwise, and where a server listens.
LOG_VARIABLE, DEFAULT_URL = "ADAPTIVE_DEPTH_LOG", "http://127.0.0.1:30000"
#: Seconds between two looks.
FROM_LOG, FROM_SERVER, PLAIN = 0.25, 1.0, 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source",
        nargs="?",
        metavar="LOG_DIR|URL",
        help=f"the folder of --adaptive-depth-log, a log file, or http://host:port"
        f" (default: ${LOG_VARIABLE}, else {DEFAULT_URL})",
    )
    parser.add_argument("--once", action="store_true", help="print one page and end")
    parser.add_argument(
        "--interval",
        type=_seconds,
        metavar="SECONDS",
        help=f"time between two looks (default: {FROM_LOG}, for a server or a pipe {FROM_SERVER:g})",
    )


def run(args: argparse.Namespace) -> int:
    """Watch until ``q``, Ctrl-C or, with ``--once``, after one page; 1 if that page found nothing to show."""
    from time import time as clock

    from rich.console import Console

    from adaptive_depth.runtime_hooks.live import driver
    from adaptive_depth.runtime_hooks.live.keys import Keys
    from adaptive_depth.runtime_hooks.live.snapshot import Link

    where = args.source or os.environ.get(LOG_VARIABLE) or DEFAULT_URL
    source, usual = _source(where)
    console = Console(highlight=False)
    try:
        if args.once:
            return int(driver.draw_once(source, console, clock).link is Link.DISCONNECTED)
        with Keys() as keys:
            if console.is_terminal:
                driver.drive(source, console, clock, keys.wait, args.interval or usual)
            else:
                driver.drive_plain(source, console, clock, keys.wait, args.interval or PLAIN)
        return 0
    finally:
        source.close()


def _source(where: str) -> tuple[Source, float]:
    """The source a word names, and how often to look at it."""
    from adaptive_depth.runtime_hooks.live.source_http import HttpSource
    from adaptive_depth.runtime_hooks.live.source_log import LogSource

    if where.startswith(("http://", "https://")):
        return HttpSource(where), FROM_SERVER
    if "://" in where:
        raise ConfigError(f"{where}: expected a folder, a file, or http://host:port")
    return LogSource(Path(where)), FROM_LOG


def _seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is no time: expected more than 0 seconds")
    return value
