"""Waiting that a key press cuts short: the view's clock on a terminal."""

from __future__ import annotations

import select
import sys
import time
from types import TracebackType
from typing import Any

try:
    import termios
    import tty
except ImportError:  # no Unix terminal: waiting works, keys do not
    termios = None  # type: ignore[assignment]


class Keys:
    """Single key presses from standard input while it is a terminal; its settings are put back at the end."""

    def __enter__(self) -> Keys:
        """Let keys through without Enter."""
        self._saved: list[Any] | None = None
        if termios is not None and sys.stdin.isatty():
            self._saved = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the terminal's settings back."""
        if self._saved is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._saved)

    def wait(self, seconds: float) -> str:
        """Sleep, or return the key that was pressed meanwhile."""
        if self._saved is None:
            time.sleep(seconds)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else ""
