"""The progress bar of long commands."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from adaptive_depth.sim.report.progress import Bar


class Terminal(StringIO):
    def isatty(self):
        return True


def test_no_terminal_no_bar(capsys):
    """Where nobody watches there is no bar, its total is not counted, and lines go to standard error."""
    with Bar("replaying", lambda: pytest.fail("counted for nothing")) as bar:
        bar.advance()
        bar.write("one [bold]line[/bold]")
    assert capsys.readouterr() == ("", "one [bold]line[/bold]\n")


@pytest.mark.parametrize(("unit", "shown"), [("steps", " 75%"), ("bytes", "3/4 bytes")])
def test_bar_on_a_terminal(monkeypatch, unit, shown):
    """A terminal shows what is being done and how far it is; names are text; the bar is wiped off."""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with Bar("replaying", lambda: 4, unit) as bar:
        bar.advance(2, "set[red]")
        bar.advance()
        bar.write("look [bold]here")
    text = terminal.getvalue()
    assert "set[red]" in text and shown in text and "look [bold]here\n" in text
    assert text.rstrip().endswith("\x1b[2K")
