"""The loop of the live view: read the source, draw, wait; clock and keys are handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from rich.console import Console
from rich.live import Live

from adaptive_depth.runtime_hooks.live.render import plain_line, render
from adaptive_depth.runtime_hooks.live.snapshot import Link, Snapshot

Clock = Callable[[], float]
#: Waits that many seconds; returns a key pressed meanwhile, or an empty string.
Wait = Callable[[float], str]
#: Lines of a page that are not requests.
FRAME = 14


class Source(Protocol):
    """Where the view looks: a log, a server."""

    def read(self, now: float) -> Snapshot:
        """The picture at a Unix time; never raises for a source that is away."""

    def close(self) -> None:
        """Let go of it."""


def draw_once(source: Source, console: Console, clock: Clock) -> Snapshot:
    """Print one page and return what it showed."""
    snapshot = source.read(clock())
    console.print(render(snapshot, console.width, rows=64))
    return snapshot


def drive_plain(source: Source, console: Console, clock: Clock, wait: Wait, interval: float) -> None:
    """One plain line every ``interval`` seconds, until interrupted."""
    while wait(interval) != "q":
        print(plain_line(source.read(clock())), file=console.file, flush=True)


def drive(source: Source, console: Console, clock: Clock, wait: Wait, interval: float) -> None:
    """A page that is drawn anew every ``interval`` seconds: space holds it, ``q`` leaves it."""
    held: tuple[Snapshot, float] | None = None
    with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        key = ""
        while key != "q":
            now = clock()
            shown = source.read(now)
            if key == " ":
                held = None if held else (shown, now)
            if held is not None:
                shown = replace(held[0], link=Link.PAUSED, age_s=now - held[1])
            live.update(render(shown, console.width, max(1, console.height - FRAME)), refresh=True)
            key = wait(interval)
