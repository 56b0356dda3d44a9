"""What ``sim replay`` prints for a person."""

from __future__ import annotations

import dataclasses
import re
from io import StringIO

from rich.console import Console

from adaptive_depth.sim.replay_report import ReplayReport
from adaptive_depth.sim.report.replay_table import print_replay

GOLDEN_100 = """\
Synthetic sets: generated to match published tables, NOT measured

nem-1m  synthetic
cost q122-b200, context 1.04M, batch 1, lag 2, 480 requests, 63,232 tokens, window 4032, full
                         ms/       mean           sw/ vs best                 gap vs no-
policy           tok/s   tok   AL depth  windows 1000  static      95 % CI closed   spec    evidence
marginal         105.3  9.50 2.61  2.70 4032 97%   84   +5.3%   +4.9..+5.8   +26%  +163%       exact
sglang-ema        99.9 10.01 2.61  2.70 4032 97%   84   -0.1%   -0.5..+0.4     0%  +150%       exact
static            98.0 10.20 2.61  3.00     full    0   -2.0%   -2.4..-1.5   -10%  +145%       exact
throughput-aware  97.1 10.30 2.61  2.70 4032 97%   84   -2.9%   -3.3..-2.4   -15%  +143%       exact
static depths
static:0@0        39.0 25.64 2.61  0.00        —    0  -61.0% -61.4..-60.5 <-100%    -3%       exact
static:1@4032     70.0 14.29 2.61  1.00     4032    0  -30.0% -30.4..-29.5 <-100%   +75%       exact
static:2@4032     91.2 10.96 2.61  2.00     4032    0   -8.8%   -9.2..-8.3   -44%  +128%       exact
static:3@4032    100.0 10.00 2.61  3.00     4032    0    0.0%   -0.4..+0.5     0%  +150%       exact
static:5@4032     93.0 10.75 2.61  5.00     4032    0   -7.0%   -7.4..-6.5   -35%  +133%       exact
static:7@4032     38.0 26.32 2.61  7.00     4032    0  -62.0% -62.4..-61.5 <-100%    -5%       exact
static:9@4032        —     —    —     —        —    —       —            —      —      — unsupported
in hindsight
clairvoyant      120.0  8.33 2.61  2.70 4032 97%   84  +20.0% +19.6..+20.5  +100%  +200%       exact
best static per  103.0  9.71 2.61  2.70 4032 97%   84   +3.0%   +2.6..+3.5   +15%  +158%       exact
request
best static      100.0 10.00 2.61  3.00     4032    0    0.0%   -0.4..+0.5     0%  +150%       exact
  static:9@4032: deeper than recorded (7)

vs best static: speed against the one depth and window fastest in hindsight; CI over requests
gap closed: share of the way from best static to the clairvoyant, which knows the future
AL: tokens a round; depth: drafts a round; sw/1000: depth changes in 1,000 rounds
exact: all of it is in the trace; modelled: some is fitted; unsupported: cannot tell (—)
"""

GOLDEN_60 = """\
                   sw/ vs best
policy           tok/s 1000  static      95 % CI    evidence
marginal         105.3   84   +5.3%   +4.9..+5.8       exact
"""


def printed(report, width=100, **console):
    file = StringIO()
    print_replay(report, Console(file=file, width=width, **console))
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n"))


def test_a_set_reads_as_agreed(make_set):
    """Policies by speed, the fastest window of each static depth, hindsight, notes, legend."""
    assert printed(ReplayReport(make_set("nem-1m", "synthetic"))) == GOLDEN_100


def test_narrow_screens_lose_columns_not_digits(make_set):
    """Down to 60 columns every line fits, no figure is cut, and the lost columns are named."""
    for width in range(60, 100):
        text = printed(ReplayReport(make_set()), width)
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text
    narrow = printed(ReplayReport(make_set()), 60)
    assert GOLDEN_60 in narrow
    lost = "too narrow for: ms/tok, AL, mean depth, windows, gap closed, vs no-spec vs best static:"
    assert lost in " ".join(narrow.split())


def test_origins_stand_apart(report):
    """Recorded, imported and synthetic sets each follow a heading of their own, in that order."""
    text = printed(report)
    places = [text.index(f"{word} sets: ") for word in ("Recorded", "Imported", "Synthetic")]
    names = [text.index(f"{word}  ") for word in ("own-server", "code-edit", "nem-1m-ruler")]
    assert sorted([*places, *names]) == [place for pair in zip(places, names, strict=True) for place in pair]


def test_costs_and_contexts_are_separate_tables(make_set):
    """The same set at two costs is two tables, never mixed."""
    rows = make_set() + make_set(cost="q35-b200") + make_set(context=8_000)
    text = printed(ReplayReport(rows))
    assert text.count("made  recorded") == 3
    assert "cost q35-b200, context 1.04M" in text and "cost q122-b200, context 8K" in text


def test_many_sets_end_in_a_summary(make_set, make_row):
    """Beyond six sets each one's best policy and its gain are repeated on one screen, with its origin."""
    few = [row for i in range(6) for row in make_set(f"set-{i}")]
    assert "Best policy of each set" not in printed(ReplayReport(few))
    extra = [
        *make_set("made-up", "synthetic"),
        make_row("marginal", None, trace_set="log", origin="imported"),
    ]
    summary = printed(ReplayReport(few + extra)).split("Best policy of each set")[1].split("\n\n")[0]
    lines = summary.splitlines()[3:]
    assert [lines[0], lines[7], lines[9]] == ["recorded", "imported", "synthetic"] and len(lines) == 11
    assert re.fullmatch(r"  set-0 +q122-b200  marginal +\+5\.3%  \+4\.9\.\.\+5\.8     exact", lines[1])
    assert lines[8].startswith("  log      q122-b200  none could be replayed")
    assert lines[10].startswith("  made-up  q122-b200  marginal")


def test_one_window_needs_no_column(make_row):
    """With a single window the column gives way to a word under the title."""
    one = make_row("marginal", 105.0, window_histogram={512: 10})
    assert "windows" not in printed(ReplayReport([one])) and "window 512\n" in printed(ReplayReport([one]))


def test_figures_that_say_nothing_are_left_out(make_row):
    """The best static has no interval against itself, and a loss beyond the whole gap is only that."""
    itself = make_row("best static", 100.0, role="hindsight", ci95=(0.0, 0.0))
    assert re.search(r"0\.0% +— +0%", printed(ReplayReport([itself, make_row("bandit", 91.0)])))
    lost = printed(ReplayReport([make_row("bandit", 79.9), make_row("ema", 80.1)]))
    assert "<-100%" in lost and " -100%" in lost


def test_remarks_name_their_rows_once(make_set, make_row):
    """A remark on every row that could be replayed is one on all rows; otherwise it names its rows."""
    rows = [dataclasses.replace(row, note=row.note or "priced at 1K") for row in make_set()]
    text = printed(ReplayReport(rows))
    assert "  all rows: priced at 1K\n  static:9@4032: deeper than recorded (7)\n" in text
    some = [make_row("a", 1.0, note="n"), make_row("b", 1.0, note="n"), make_row("c", 1.0)]
    assert "\n  a, b: n\n" in printed(ReplayReport(some))


def test_a_log_without_rounds_is_a_short_table(make_row):
    """Where nothing could be replayed, columns without a figure are left out."""
    row = make_row("marginal", None, requests=1, tokens=0)
    text = printed(ReplayReport([row]))
    assert "\npolicy      evidence\nmarginal unsupported\n  all rows: the trace cannot tell\n" in text
    assert "lag 2, 1 request\n" in text


def test_partial_coverage_is_shown(make_row):
    """Where the trace holds only part of what a row needed, its share stands beside the evidence."""
    row = make_row("marginal", 105.0, evidence="modelled", coverage=0.834)
    assert "modelled   83%" in printed(ReplayReport([row]), 120)


def test_colours(make_row):
    """Below no drafting is red, a gain whose interval is above zero green, evidence in its own colour."""
    rows = [make_row("marginal", 105.0), make_row("bandit", 39.0, evidence="modelled")]
    text = printed(ReplayReport(rows), force_terminal=True, color_system="standard", no_color=False)
    assert "\x1b[31m   -3%\x1b[0m" in text
    assert "\x1b[1;32m  +5.0%\x1b[0m" in text
    assert "\x1b[33mmodelled\x1b[0m" in text


def test_plain_without_colour(report):
    """A file gets no escape codes, nor does a terminal under NO_COLOR any colour."""
    assert "\x1b" not in printed(report)
    quiet = printed(report, force_terminal=True, no_color=True, color_system="standard")
    assert "\x1b[1m" in quiet and not re.search(r"\x1b\[([0-9]+;)*3[0-9]m", quiet)


def test_names_cannot_steer_the_terminal(make_row):
    """Markup and control characters in a name are printed or replaced, never obeyed."""
    row = make_row("[red]x[/red]\x1b[31m", 1.0, trace_set="a\nb[bold]", origin="[x]", note="n\x07")
    text = printed(ReplayReport([row]), 120)
    assert "[red]x[/red]\N{REPLACEMENT CHARACTER}[31m" in text
    assert "a\N{REPLACEMENT CHARACTER}b[bold]  [x]" in text
    assert "\x1b" not in text and "\x07" not in text


def test_nothing_to_show():
    """An empty report says so."""
    assert printed(ReplayReport([])) == "Nothing was replayed.\n"
