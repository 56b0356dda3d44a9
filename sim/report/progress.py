"""A progress bar for commands that take long: on standard error, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """Shows how far a command is; lines meant for the user are written above it.

    Where standard error is no terminal there is no bar, ``total`` is not asked, and lines are just printed.
    """

    def __init__(
        self, what: str, total: Callable[[], int], unit: Literal["bytes", "steps"] = "steps"
    ) -> None:
        """``what`` is being done, to ``total()`` bytes or steps."""
        self._what, self._total, self._unit = what, total, unit
        self._progress: Progress | None = None

    def __enter__(self) -> Bar:
        """Start the bar."""
        if sys.stderr.isatty():
            self._progress = _progress(self._unit)
            self._task = self._progress.add_task(self._what, total=self._total())
            self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Wipe the bar off."""
        if self._progress:
            self._progress.stop()

    def advance(self, count: int = 1, what: str = "") -> None:
        """``count`` more bytes or steps are done; ``what``, if given, is what comes now."""
        if self._progress:
            self._progress.update(self._task, advance=count, description=what or None)

    def write(self, line: str) -> None:
        """Print a line above the bar."""
        if self._progress:
            self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr)


def _progress(unit: str) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    what = TextColumn("{task.description}", markup=False)  # it may name a file
    counted = DownloadColumn() if unit == "bytes" else TaskProgressColumn()
    columns = (what, BarColumn(), counted, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
