"""The page of the live view: golden text at three widths, states, and what must never break it."""

from dataclasses import replace
from pathlib import Path

import pytest

from adaptive_depth.runtime_hooks.live.render import plain_line, render
from adaptive_depth.runtime_hooks.live.snapshot import Link, RequestView, Snapshot

GOLDEN = Path(__file__).parents[2] / "vectors" / "live"


@pytest.mark.parametrize("width", [60, 100, 140])
def test_the_page_is_as_it_was_looked_at(busy, text_of, width):
    """Exactly the text that was judged in a terminal; a change is looked at again and the file rewritten."""
    assert text_of(render(busy, width), width) == (GOLDEN / f"page-{width}.txt").read_text()


@pytest.mark.parametrize("width", [60, 61, 73, 80, 99, 120, 200])
def test_no_line_is_wider_than_the_terminal(busy, text_of, width):
    """Any width from 60 shows every column in whole lines."""
    lines = text_of(render(busy, width), width).splitlines()
    assert max(map(len, lines)) <= width
    for column in ("request", "k", "window", "ctx", "tok/s", "AL", "accepted", "by pos"):
        assert any(column in line for line in lines), column
    assert sum(line.startswith(("chat-1", "9f86d081", "code-7")) for line in lines) == 3


def test_a_narrow_terminal_gets_the_narrowest_page(busy, text_of):
    """Below 60 columns nothing fails."""
    assert "adaptive-depth" in text_of(render(busy, 20), 20)


@pytest.mark.parametrize("link", list(Link))
def test_every_state_is_named(busy, text_of, link):
    """Paused, stale and disconnected are told with their age."""
    title = text_of(render(replace(busy, link=link, age_s=12.4), 100), 100).splitlines()[0]
    assert link.value in title
    aged = link in (Link.PAUSED, Link.STALE, Link.DISCONNECTED, Link.IDLE)
    assert ("12 s" in title) == aged


def test_a_net_loss_is_red_and_a_gain_is_green(busy, text_of):
    """Acceptance may look fine while speculation loses: the figure itself says so."""
    colours = {"force_terminal": True, "color_system": "standard"}
    lost = text_of(render(replace(busy, speedup=0.97), 100), 100, **colours)
    won = text_of(render(busy, 100), 100, **colours)
    assert "\x1b[1;31m0.97x" in lost and "\x1b[1;32m1.63x" in won


def test_an_unknown_speed_up_is_called_unknown(busy, text_of):
    """Neither red nor green, and no number."""
    page = text_of(render(replace(busy, speedup=float("nan"), speedup_basis=""), 100), 100)
    assert "unknown over depth 0" in page and "nan" not in page


def test_no_color_is_obeyed(busy, text_of, monkeypatch):
    """NO_COLOR leaves no colour on a terminal either."""
    monkeypatch.setenv("NO_COLOR", "1")
    page = text_of(render(replace(busy, speedup=0.5), 100), 100, force_terminal=True)
    assert "31m" not in page and "36m" not in page


def test_failures_and_drops_are_shown(busy, text_of):
    """What went wrong is on the page, and an operator's doing as well."""
    page = text_of(render(replace(busy, failures=2, dropped=5, forced=1, disabled=True), 140), 140)
    assert "2 failures" in page and "5 records dropped" in page
    assert "forced to 1" in page and "adapting is off" in page


def test_more_requests_than_rows_are_counted(busy, text_of):
    """The page stays as long as the terminal is high."""
    page = text_of(render(busy, 100, rows=2), 100)
    assert "and 1 more" in page and "code-7" not in page


def test_names_are_text_and_no_markup(text_of):
    """A request's id comes from a client and may look like markup."""
    odd = RequestView("[red]x[/red]", 0, 0, 1, 1, 1.0, 1.0, (0,), (0,), ())
    page = text_of(render(Snapshot(Link.LIVE, "[b]x", requests=(odd,)), 100), 100)
    assert "[red]x[/red]" in page and "[b]x" in page


def test_an_empty_snapshot_is_drawn(text_of):
    """Before the first round there are dashes, not errors."""
    page = text_of(render(Snapshot(Link.DISCONNECTED, "x", notes=("no answer",)), 80), 80)
    assert "disconnected" in page and "no answer" in page and "nan" not in page


def test_the_plain_line_is_one_line_with_every_figure(busy):
    """For a pipe: the same state, to be cut with awk."""
    line = plain_line(replace(busy, notes=("two\nlines",)))
    assert "\n" not in line
    for part in ("live", "rounds=12345", "depth=3", "AL=2.41", "round=31.2ms", "speedup=1.63", "failures=0"):
        assert part in line.split() or part in line
