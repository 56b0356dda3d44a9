"""A snapshot as text: a page for a terminal of any width from 60, and one plain line for everything else."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from adaptive_depth.runtime_hooks.live.glyphs import bar, known, levels, sparkline, tokens, window
from adaptive_depth.runtime_hooks.live.snapshot import Decision, Link, RequestView, Snapshot

#: Below this the page is not promised to be readable; it is drawn as if this wide.
NARROWEST = 60
_WIDE, _WIDEST = 90, 130
#: Columns of numbers with their widths, and what they take with the gaps beside them.
_COLUMNS = (("k", 2), ("window", 6), ("ctx", 5), ("tok/s", 5), ("AL", 4))
_NUMBERS = sum(cells + 1 for _, cells in _COLUMNS)
_LINK_STYLE = {
    Link.LIVE: "bold green",
    Link.IDLE: "green",
    Link.PAUSED: "bold yellow",
    Link.STALE: "bold yellow",
    Link.ENDED: "bold",
    Link.DISCONNECTED: "bold red",
}
_AGED = (Link.PAUSED, Link.STALE, Link.DISCONNECTED, Link.IDLE)


def render(snapshot: Snapshot, width: int, rows: int = 20) -> RenderableType:
    """The page; ``rows`` requests at most are listed. Pure: the same snapshot gives the same page."""
    width = max(width, NARROWEST)
    parts: list[RenderableType] = [_title(snapshot, width), *_server(snapshot, width)]
    if snapshot.requests:
        parts += [Text(), _requests(snapshot, width, rows)]
        if (hidden := len(snapshot.requests) - rows) > 0:
            parts.append(Text(f"and {hidden} more", "dim"))
    parts += [Text(note, "yellow", overflow="fold") for note in snapshot.notes]
    return Group(*parts)


def plain_line(snapshot: Snapshot) -> str:
    """The state in one line, for a log or a pipe."""
    parts = [
        snapshot.link.value,
        f"rounds={snapshot.rounds}",
        f"batch={snapshot.batch}",
        f"depth={snapshot.depth if snapshot.depth >= 0 else '-'}",
        f"AL={known(snapshot.accept_length, '.2f')}",
        f"tok/s={known(snapshot.tokens_per_second, '.1f')}",
        f"round={known(snapshot.round_ms, '.1f', 'ms')}",
        f"speedup={known(snapshot.speedup, '.2f')}" + _basis(snapshot),
        f"switches/1000={known(snapshot.switches_per_1000, '.0f')}",
        f"failures={snapshot.failures}",
        f"dropped={snapshot.dropped}",
    ]
    if snapshot.decisions:
        parts.append("last=" + _decision(snapshot.decisions[0]).replace(" ", ":"))
    return " ".join(parts + [f"note={note!r}" for note in snapshot.notes])


def _title(snapshot: Snapshot, width: int) -> Text:
    state = snapshot.link.value
    if snapshot.link in _AGED and snapshot.age_s >= 1:
        state += f" {snapshot.age_s:.0f} s"
    title = Text("adaptive-depth ", "bold", no_wrap=True, overflow="ellipsis")
    title.append(state, _LINK_STYLE[snapshot.link])
    for what in (snapshot.model, snapshot.policy, snapshot.source):
        title.append(f" · {what}")
    if snapshot.disabled:
        title.append(" · adapting is off", "bold yellow")
    if snapshot.forced is not None:
        title.append(f" · forced to {snapshot.forced}", "bold yellow")
    title.truncate(width, overflow="ellipsis")
    return title


def _server(snapshot: Snapshot, width: int) -> Iterator[Text]:
    yield _flow(list(_speed(snapshot)), width)
    yield _flow(list(_times(snapshot)), width)
    yield _flow(list(_counts(snapshot)), width)
    yield _histogram("depth ", [(str(depth), count) for depth, count in snapshot.depth_rounds], width)
    yield _histogram("window", [(window(size), count) for size, count in snapshot.window_rows], width)
    if snapshot.decisions:
        yield _flow([Text("last", "dim"), *(Text(_decision(d)) for d in snapshot.decisions)], width, lines=1)


def _speed(snapshot: Snapshot) -> Iterator[Text]:
    yield Text.assemble(("AL ", "dim"), known(snapshot.accept_length, ".2f"))
    yield Text.assemble(known(snapshot.tokens_per_second, ",.1f"), (" tok/s", "dim"))
    slow = snapshot.speedup < 1
    style = "bold red" if slow else "dim" if math.isnan(snapshot.speedup) else "bold green"
    shown = "unknown" if math.isnan(snapshot.speedup) else f"{snapshot.speedup:.2f}x"
    yield Text.assemble((shown, style), (f" over depth 0{_basis(snapshot)}", "dim"))


def _basis(snapshot: Snapshot) -> str:
    return f" ({snapshot.speedup_basis})" if snapshot.speedup_basis else ""


def _times(snapshot: Snapshot) -> Iterator[Text]:
    yield Text.assemble(("round ", "dim"), known(snapshot.round_ms, ".1f", " ms"))
    stages = ("draft", snapshot.draft_ms), ("verify", snapshot.verify_ms), ("extend", snapshot.extend_ms)
    for name, value in stages:
        yield Text.assemble((f"{name} ", "dim"), known(value, ".1f"))
    yield Text.assemble(("plan ", "dim"), known(snapshot.plan_us, ".0f", " µs"))


def _counts(snapshot: Snapshot) -> Iterator[Text]:
    yield Text.assemble(f"{snapshot.rounds:,}", (" rounds", "dim"))
    yield Text.assemble(("batch ", "dim"), f"{snapshot.batch:,}")
    yield Text.assemble(f"{snapshot.finished:,}", (" finished", "dim"))
    yield Text.assemble(known(snapshot.switches_per_1000, ".0f"), (" switches/1,000", "dim"))
    yield Text(f"{snapshot.failures:,} failures", "bold red" if snapshot.failures else "dim")
    if snapshot.dropped:
        yield Text(f"{snapshot.dropped:,} records dropped", "bold yellow")


def _flow(parts: list[Text], width: int, lines: int = 0) -> Text:
    """Parts side by side, broken only between two of them; ``lines`` above 0 drops what does not fit."""
    text, used, line = Text(), 0, 1
    for part in parts:
        gap = 2 if used else 0
        if used and used + gap + part.cell_len > width:
            if line == lines:
                break
            text.append("\n")
            used, gap, line = 0, 0, line + 1
        text.append(" " * gap)
        text.append_text(part)
        used += gap + part.cell_len
    return text


def _histogram(name: str, counts: list[tuple[str, int]], width: int) -> Text:
    total = sum(count for _, count in counts)
    if not total:
        return Text(f"{name}  -", "dim")
    room = (width - len(name)) // len(counts) - max(len(label) for label, _ in counts) - 9
    parts = [Text(name, "dim")]
    for label, count in counts:
        share = count / total
        drawn = bar(share, min(max(room, 0), 12))
        parts.append(
            Text.assemble((f"{label} ", "bold"), (drawn, "cyan"), f"{' ' if drawn else ''}{share:.0%}")
        )
    return _flow(parts, width)


def _decision(decision: Decision) -> str:
    return f"#{decision.round} {decision.before}→{decision.after} {decision.reason}"


def _requests(snapshot: Snapshot, width: int, rows: int) -> Table:
    shown = 32 if width >= _WIDEST else 24 if width >= _WIDE else 10
    deepest = max((len(request.positions) for request in snapshot.requests), default=0)
    numbered = width >= _WIDE and _NUMBERS + shown + 5 * deepest + 12 <= width
    last = max(5 * deepest - 1, 11) if numbered else max(deepest, 7)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    name = min(max(width - _NUMBERS - shown - last - 2, 8), 36)
    table.add_column("request", no_wrap=True, width=name, overflow="ellipsis")
    for title, cells in _COLUMNS:
        table.add_column(title, justify="right", no_wrap=True, width=cells)
    table.add_column("accepted", no_wrap=True, width=shown)
    table.add_column("by position" if numbered else "by pos.", no_wrap=True, width=last)
    for request in snapshot.requests[:rows]:
        table.add_row(*_row(request, shown, numbered))
    return table


def _row(request: RequestView, shown: int, numbered: bool) -> tuple[Text, ...]:
    positions = " ".join(known(s, ".2f").removeprefix("0").rjust(4) for s in request.positions)
    return (
        Text(request.name),
        Text(str(request.depth)),
        Text(window(request.window)),
        Text(tokens(request.context)),
        Text(known(request.tokens_per_second, ".1f")),
        Text(known(request.accept_length, ".2f")),
        Text(sparkline(request.accepted[-shown:], request.depths[-shown:]), "cyan"),
        Text(positions if numbered else levels(request.positions), "cyan"),
    )
