"""Reads tables of rounds or throughput from CSV text into a :class:`TableCost`.

Three forms are known by their header; ``#`` starts a comment line:

* ``depth,batch,seconds`` - one round a line. The form to write for your own measurements. *
``concurrency,plain_tok_s,NAME_k7_tok_s,NAME_k7_AL,...`` - tokens/s and accept length by concurrency. *
``model,steps,bs1,bs2,...`` - tokens/s by depth and batch. Throughput alone is no cost: the accept length
it was
  measured at must be given.

A throughput becomes seconds as batch x accept length / throughput.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from adaptive_depth.controller.accept_curve import AcceptLength
from adaptive_depth.controller.table_cost import TableCost
from adaptive_depth.traces.errors import CostError, did_you_mean

Cells = dict[tuple[int, int], float]

_KNOWN_FORMS = (
    "'depth,batch,seconds', 'concurrency,plain_tok_s,NAME_k7_tok_s,NAME_k7_AL', 'model,steps,bs1,...'"
)
_SPECULATIVE = re.compile(r"(?P<name>\w+)_k(?P<depth>\d+)_tok_s")
_BATCH = re.compile(r"bs(\d+)")


@dataclass
class Sheet:
    """The rows of one file, each with its line number, and what was left out of it."""

    path: str
    header: list[str] = field(default_factory=list)
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, line: int, reason: str) -> CostError:
        """The error for one line (0: the whole file)."""
        return CostError(f"{self.path}:{line}: {reason}" if line else f"{self.path}: {reason}")

    def number(self, line: int, name: str, text: str) -> float:
        """A cell as a number above 0."""
        try:
            value = float(text)
        except ValueError:
            raise self.fail(line, f"{name} is {text!r}, not a number") from None
        if not 0 < value < math.inf:
            raise self.fail(line, f"{name} must be finite and above 0, got {text}")
        return value

    def count(self, line: int, name: str, text: str) -> int:
        """A cell as a whole number of 0 or more."""
        if not re.fullmatch(r"\d{1,6}", text):
            raise self.fail(line, f"{name} is {text!r}, not a whole number of 0 or more")
        return int(text)


def read_table(
    lines: Iterable[str], path: str, name: str | None = None, accept_length: AcceptLength | None = None
) -> TableCost:
    """The table in ``lines``; ``name`` picks a model or drafter where there are several.

    ``accept_length`` gives the tokens a round at each depth where the file has only throughput. Raises
    :class:`CostError` naming file, line and reason.
    """
    sheet = _sheet(lines, path)
    columns = set(sheet.header)
    if {"depth", "batch", "seconds"} <= columns:
        cells = _rounds(sheet)
    elif "plain_tok_s" in columns and sheet.header[0] in ("concurrency", "batch"):
        cells = _concurrency(sheet, name)
    elif {"model", "steps"} <= columns and any(map(_BATCH.fullmatch, columns)):
        cells = _throughput(sheet, name, accept_length)
    else:
        raise sheet.fail(0, f"unknown columns {','.join(sheet.header)!r}; known: {_KNOWN_FORMS}")
    try:
        return TableCost.from_cells(cells, sheet.notes)
    except CostError as error:
        raise sheet.fail(0, str(error)) from None


def _sheet(lines: Iterable[str], path: str) -> Sheet:
    """Split the text into header and rows; short rows stay short, long ones are an error."""
    sheet = Sheet(path)
    for line, text in _content(lines):
        if "\0" in text:
            raise sheet.fail(line, "holds NUL bytes; this is no text file")
        cells = [cell.strip() for cell in next(csv.reader([text]), [])]
        if not sheet.header:
            sheet.header = cells
        elif len(cells) > len(sheet.header):
            raise sheet.fail(line, f"has {len(cells)} cells, the header {len(sheet.header)}")
        else:
            sheet.rows.append((line, dict(zip(sheet.header, cells, strict=False))))
    if len(set(sheet.header)) < len(sheet.header):
        raise sheet.fail(0, "the header names a column twice")
    if not sheet.rows:
        raise sheet.fail(0, "holds no rows")
    return sheet


def _content(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments and blanks."""
    for number, text in enumerate(lines, 1):
        stripped = text.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _put(sheet: Sheet, cells: Cells, line: int, at: tuple[int, int], seconds: float) -> None:
    if at in cells:
        raise sheet.fail(line, f"depth {at[0]} at batch {at[1]} appears twice")
    cells[at] = seconds


def _rounds(sheet: Sheet) -> Cells:
    """``depth,batch,seconds``."""
    cells: Cells = {}
    for line, row in sheet.rows:
        depth = sheet.count(line, "depth", row.get("depth", ""))
        batch = sheet.count(line, "batch", row.get("batch", ""))
        _put(sheet, cells, line, (depth, batch), sheet.number(line, "seconds", row.get("seconds", "")))
    return cells


def _concurrency(sheet: Sheet, name: str | None) -> Cells:
    """Tokens/s and accept length by concurrency, for plain decoding and the drafter called ``name``."""
    matches = [match for match in map(_SPECULATIVE.fullmatch, sheet.header) if match]
    picked = _pick(sheet, name, {match["name"] for match in matches}, "drafter")
    cells: Cells = {}
    for line, row in sheet.rows:
        batch = sheet.count(line, sheet.header[0], row[sheet.header[0]])
        _rated(sheet, cells, line, row, "plain_tok_s", (0, batch), 1.0)
        for match in (match for match in matches if match["name"] == picked):
            column = match[0].replace("_tok_s", "_AL")
            length = sheet.number(line, column, row.get(column, ""))
            _rated(sheet, cells, line, row, match[0], (int(match["depth"]), batch), length)
    return cells


def _throughput(sheet: Sheet, name: str | None, accept_length: AcceptLength | None) -> Cells:
    """Tokens/s by depth and batch of the model called ``name``."""
    if accept_length is None:
        reason = (
            "holds throughput without accept lengths; add them as FILE.csv:MODEL@0.7 (chance that each draft "
        )
        raise sheet.fail(0, reason + "is accepted) or FILE.csv:MODEL@1=1.7,2=2.2 (accept length by depth)")
    picked = _pick(sheet, name, {row.get("model", "") for _, row in sheet.rows}, "model")
    cells: Cells = {}
    for line, row in ((line, row) for line, row in sheet.rows if row.get("model") == picked):
        steps = row.get("steps", "")
        if re.fullmatch(r"[A-Za-z_-]+", steps):
            sheet.notes.append(f"{sheet.path}:{line}: left out, {steps!r} is not a fixed depth")
            continue
        depth = sheet.count(line, "steps", steps)
        length = accept_length(depth)
        for batch, column in ((int(m[1]), m[0]) for m in map(_BATCH.fullmatch, sheet.header) if m):
            _rated(sheet, cells, line, row, column, (depth, batch), length)
    return cells


def _rated(
    sheet: Sheet,
    cells: Cells,
    line: int,
    row: Mapping[str, str],
    column: str,
    at: tuple[int, int],
    length: float,
) -> None:
    """Put one throughput as seconds; an absent cell is noted, not guessed."""
    text = row.get(column, "")
    if text:
        _put(sheet, cells, line, at, at[1] * length / sheet.number(line, column, text))
    else:
        sheet.notes.append(
            f"{sheet.path}:{line}: no value for {column}, so depth {at[0]} is not offered there"
        )


def _pick(sheet: Sheet, name: str | None, known: set[str], kind: str) -> str:
    """The one called ``name``, or the only one."""
    if name in known:
        return str(name)
    if name:
        raise sheet.fail(0, f"no {kind} {name!r}{did_you_mean(name, known)}")
    if len(known) == 1:
        return next(iter(known))
    raise sheet.fail(
        0, f"holds {len(known)} of {kind}: pick one as FILE.csv:NAME; known: {', '.join(sorted(known))}"
    )
