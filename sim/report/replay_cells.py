"""The columns of a replay's table as text, and what their words mean, for the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from adaptive_depth.sim.replay_report import ReplayRow
from adaptive_depth.sim.report.replay_sections import Section

#: From this drop rank on, a column is an extra for wide screens.
EXTRA = 10
#: Stands where there is no figure.
NOTHING = "—"
Tone = Literal["", "good", "bad", "exact", "modelled", "unsupported"]

#: The words of the table; each report closes with them.
DEFINITIONS = (
    ("vs best static", "speed against the one depth and window fastest in hindsight; CI over requests"),
    ("gap closed", "share of the way from best static to the clairvoyant, which knows the future"),
    ("AL", "tokens a round; depth: drafts a round; sw/1000: depth changes in 1,000 rounds"),
    (
        "exact",
        f"all of it is in the trace; modelled: some is fitted; unsupported: cannot tell ({NOTHING})",
    ),
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its two-line heading, the text of a row's cell, and how soon a narrow screen drops it."""

    heading: str
    text: Callable[[ReplayRow], str]
    #: Highest goes first; 0 always stays.
    drop_rank: int = 0
    tone: Callable[[ReplayRow], Tone] = lambda row: ""


def columns(section: Section) -> list[Column]:
    """The columns worth showing for a section, the policy's name first."""
    shown = [
        Column("policy", lambda row: clean(row.policy)),
        Column("\ntok/s", lambda row: rate(row.tokens_per_second)),
        Column("ms/\ntok", lambda row: number(row.ms_per_token), 9),
        Column("\nAL", lambda row: number(row.accept_length), 7),
        Column("mean\ndepth", lambda row: number(row.mean_depth), 2),
        Column("\nwindows", windows_used, 5),
        Column("sw/\n1000", lambda row: number(row.switches_per_1000, 0), 6),
        Column("vs best\nstatic", lambda row: percent(row.vs_best_static), 0, versus_best_static),
        Column("\n95 % CI", interval, 1),
        Column("gap\nclosed", gap_closed, 3),
        Column("vs no-\nspec", lambda row: percent(row.speedup_vs_no_spec, 0), 4, _versus_no_spec),
        Column("\nevidence", lambda row: row.evidence, 0, lambda row: row.evidence),
        Column("\ncover", _covered, 8),
        Column("vs per-\nrequest", lambda row: percent(row.vs_best_static_per_request), EXTRA),
        Column("vs clair-\nvoyant", lambda row: percent(row.vs_clairvoyant), EXTRA + 1),
    ]
    needless = [windows_used] if len(windows(section)) <= 1 else []
    if all(row.coverage == 1 for row in section.rows if row.evidence != "unsupported"):
        needless.append(_covered)
    return [
        c for c in shown if c.text not in needless and any(c.text(row) != NOTHING for row in section.rows)
    ]


def column_title(column: Column) -> str:
    """The heading on one line."""
    return " ".join(column.heading.split()).replace("/ ", "/").replace("- ", "-")


def clean(text: str) -> str:
    """A name from a file without the characters that steer a terminal or break a page."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def known(value: float | None) -> float | None:
    """The value, or ``None`` where it is no number."""
    return value if value is not None and math.isfinite(value) else None


def rate(value: float | None) -> str:
    """Tokens a second: 1,234.5, or 1.234 below 10."""
    return number(value, 1 if value is not None and value >= 10 else 3)


def number(value: float | None, digits: int = 2) -> str:
    """A figure at a fixed number of decimals."""
    value = known(value)
    return NOTHING if value is None else f"{value:,.{digits}f}"


def percent(value: float | None, digits: int = 1, *, sign: bool = True) -> str:
    """A fraction as a percentage: 0.013 -> ``+1.3%``."""
    value = known(value)
    if value is None:
        return NOTHING
    rounded = round(100 * value, digits) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{rounded:{'+' if sign and rounded else ''},.{digits}f}%"


def gap_closed(row: ReplayRow) -> str:
    """In percent; a loss beyond the whole gap says no more than that it is one."""
    return "<-100%" if row.gap_closed is not None and row.gap_closed < -1 else percent(row.gap_closed, 0)


def interval(row: ReplayRow) -> str:
    """The interval of ``vs_best_static`` in percent: ``+0.9..+1.8``."""
    if row.ci95 is None or known(row.ci95[0]) is None or known(row.ci95[1]) is None:
        return NOTHING
    if row.ci95 == (0.0, 0.0):  # the best static against itself
        return NOTHING
    return "..".join(percent(end).removesuffix("%") for end in row.ci95)


def window_name(window: int) -> str:
    """``full`` for 0, else the number of tokens."""
    return f"{window}" if window else "full"


def windows(section: Section) -> list[int]:
    """Every window that any drafting row of the section used."""
    used = {window for row in section.rows if row.mean_depth for window in row.window_histogram}
    return sorted(used, key=lambda window: window or math.inf)


def windows_used(row: ReplayRow) -> str:
    """The window of most rounds, with its share where others were used too."""
    total = sum(row.window_histogram.values())
    if not total or not row.mean_depth:
        return NOTHING
    most = max(row.window_histogram, key=lambda window: row.window_histogram[window])
    share = row.window_histogram[most] / total
    return window_name(most) + (f" {100 * share:.0f}%" if share < 0.995 else "")


def token_count(count: int) -> str:
    """A token count as people write it: 480, 8K, 261K, 1.04M."""
    if count < 1000:
        return f"{count}"
    return f"{count / 1000:.3g}K" if count < 999_500 else f"{count / 1e6:.3g}M"


def facts(section: Section) -> list[str]:
    """How a section was replayed and on what, a few words each."""
    head, rows = section.head, section.rows
    lags = sorted({row.lag for row in section.policies or rows})
    used = ", ".join(map(window_name, windows(section)))
    return [
        f"cost {clean(head.cost)}",
        f"context {token_count(head.context)}",
        f"batch {head.batch}",
        f"lag {'/'.join(map(str, lags))}",
        *_counted(max(row.requests for row in rows), "request"),
        *_counted(max(row.tokens for row in rows), "token"),
        *([f"window {used}"] if used else []),
    ]


def _counted(count: int, what: str) -> list[str]:
    return [f"{count:,} {what}{'' if count == 1 else 's'}"] if count else []


def notes(section: Section) -> list[str]:
    """One line for every remark, naming the rows it holds for."""
    said: dict[str, list[ReplayRow]] = {}
    for row in section.rows:
        remark = row.note or ("the trace cannot tell" if row.evidence == "unsupported" else "")
        if remark:
            said.setdefault(remark, []).append(row)
    replayed = [row for row in section.rows if row.evidence != "unsupported"]
    return [clean(f"{_those(rows, section.rows, replayed)}: {remark}") for remark, rows in said.items()]


def _those(rows: list[ReplayRow], every: list[ReplayRow], replayed: list[ReplayRow]) -> str:
    return "all rows" if rows in (every, replayed) else ", ".join(row.policy for row in rows)


def _covered(row: ReplayRow) -> str:
    return percent(row.coverage, 0, sign=False)


def versus_best_static(row: ReplayRow) -> Tone:
    """A policy is coloured only where its whole interval lies on one side."""
    if row.ci95 is None or row.role != "policy":
        return ""
    low, high = row.ci95
    return "good" if low > 0 else "bad" if high < 0 else ""


def _versus_no_spec(row: ReplayRow) -> Tone:
    gain = row.speedup_vs_no_spec
    return "bad" if gain is not None and gain < 0 else ""
