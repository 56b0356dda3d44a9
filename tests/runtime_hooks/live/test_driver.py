"""The loop: draws what the source says, holds still on demand, and ends when told to."""

import itertools
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from adaptive_depth.runtime_hooks.live.driver import draw_once, drive, drive_plain
from adaptive_depth.runtime_hooks.live.snapshot import Link


@pytest.fixture
def source(busy):
    """A source whose rounds rise by one a look."""

    class Counting:
        looks = 0

        def read(self, now):
            self.looks += 1
            return replace(busy, rounds=self.looks)

    return Counting()


def keys(*pressed):
    """A wait that returns these keys, then ``q``."""
    rest = itertools.chain(pressed, itertools.repeat("q"))
    return lambda seconds: next(rest)


def terminal():
    return Console(file=StringIO(), width=80, height=30, force_terminal=True, color_system=None)


def test_each_turn_draws_a_new_look(source):
    """Rounds 1, 2 and 3 are on the screen one after another, then it is left."""
    console = terminal()
    drive(source, console, lambda: 0.0, keys("", ""), 0.1)
    drawn = console.file.getvalue()
    assert source.looks == 3 and all(f"{n} rounds" in drawn for n in (1, 2, 3))


def test_space_holds_the_picture_while_the_source_is_read_on(source):
    """Paused shows the held round and since when; a second space goes on."""
    console, clock = terminal(), itertools.count(100.0, 10.0)
    drive(source, console, lambda: next(clock), keys(" ", "", " "), 0.1)
    drawn = console.file.getvalue()
    assert "paused" in drawn and "paused 10 s" in drawn
    assert "3 rounds" not in drawn and "4 rounds" in drawn


def test_a_pipe_gets_one_line_a_turn(source):
    """Plain, without escapes, until it is ended."""
    console = Console(file=StringIO(), width=40)
    drive_plain(source, console, lambda: 0.0, keys("", ""), 1.0)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 2 and "\x1b" not in console.file.getvalue()
    assert [line.split()[1] for line in lines] == ["rounds=1", "rounds=2"]


def test_once_is_one_page(source):
    """And tells how the source stood."""
    console = Console(file=StringIO(), width=100)
    assert draw_once(source, console, lambda: 0.0).link is Link.LIVE
    assert console.file.getvalue().count("adaptive-depth live") == 1
