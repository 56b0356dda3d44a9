"""JSON from strangers: one record a line, a list of records, or a single document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from adaptive_depth.traces.importers.base import Problem, Progress, Rejected
from adaptive_depth.traces.importers.lines import byte_fault, raw_lines, text_lines

#: A document that is not one record a line must fit in memory several times over.
DOCUMENT_LIMIT = 256 << 20
_PROBE_LINES = 64
_GAP = re.compile(r"[\s,]*")


def parse_json(text: str) -> object:
    """Parse JSON as Python does (NaN and Infinity pass); raises :class:`Rejected` for anything else.

    A key given twice is refused: which of the two was meant is anybody's guess.
    """
    value, end = _decode(text, len(text) - len(text.lstrip()))
    if text[end:].strip():
        raise Rejected("is not JSON: something follows the value")
    return value


def json_records(path: Path, progress: Progress) -> Iterator[tuple[int, object] | Problem]:
    """Yield ``(line, record)`` from JSON Lines, a JSON list or one JSON document; bad ones as problems."""
    try:
        text = None if is_json_lines(path) else _document(path, progress)
    except Rejected as reason:
        yield Problem(path, 0, str(reason))
        return
    if text is None:
        yield from _from_lines(path, progress)
    elif text.lstrip()[:1] == "[":
        yield from _from_list(path, text)
    else:
        yield from _one(path, 1 + text[: len(text) - len(text.lstrip())].count("\n"), text)


def neighbour(path: Path, ending: str, other: str) -> dict[str, Any]:
    """The JSON object in the file beside ``path`` whose name ends in ``other`` instead, or nothing."""
    if not path.name.endswith(ending):
        return {}
    beside = path.with_name(path.name.removesuffix(ending) + other)
    try:
        value = parse_json(_document(beside, lambda count: None))
    except (OSError, Rejected):
        return {}
    return value if isinstance(value, dict) else {}


def is_json_lines(path: Path) -> bool:
    """Whether the file has one record a line: its first line is a whole value, or no document opens there."""
    items = text_lines(path, lambda count: None)
    first = [item[1] for item in islice(items, _PROBE_LINES) if not isinstance(item, Problem)]
    if not first or _is_container(first[0]):
        return True
    opens = first[0].lstrip()[:1] in ("{", "[") and first[0].rstrip()[-1:] in ("{", "[", ",")
    return not opens


def _is_container(text: str) -> bool:
    try:
        return isinstance(parse_json(text), dict | list)
    except Rejected:
        return False


def _from_lines(path: Path, progress: Progress) -> Iterator[tuple[int, object] | Problem]:
    for item in text_lines(path, progress):
        if isinstance(item, Problem):
            yield item
        elif item[1].lstrip()[:1] == "[":
            yield from _from_list(path, item[1], item[0])
        else:
            yield from _one(path, *item)


def _one(path: Path, line: int, text: str) -> Iterator[tuple[int, object] | Problem]:
    try:
        yield line, parse_json(text)
    except Rejected as reason:
        torn = "" if text.endswith("\n") else " (the file ends here: torn?)"
        yield Problem(path, line, f"{reason}{torn}")


def _from_list(path: Path, text: str, line: int = 1) -> Iterator[tuple[int, object] | Problem]:
    """The items of a list, each with its line; what follows a fault is lost, what precedes it is not."""
    at = text.index("[") + 1
    line += text.count("\n", 0, at)
    while True:
        gap = _GAP.match(text, at)
        assert gap is not None  # the pattern matches nothing as well
        line += text.count("\n", at, gap.end())
        at = gap.end()
        if text[at : at + 1] == "]":
            return
        try:
            value, end = _decode(text, at)
        except Rejected as reason:
            yield Problem(path, line, str(reason) if text[at:] else "the list is not closed (torn?)")
            return
        yield line, value
        line += text.count("\n", at, end)
        at = end


def _document(path: Path, progress: Progress) -> str:
    """The whole text of a file; raises :class:`Rejected`."""
    size = path.stat().st_size
    if size > DOCUMENT_LIMIT:
        allowed = f"the limit is {DOCUMENT_LIMIT >> 20} MiB, use one record a line"
        raise Rejected(f"one JSON document of {size >> 20} MiB: {allowed}")
    raw = b"".join(item[1] for item in raw_lines(path, progress) if not isinstance(item, Problem))
    if fault := byte_fault(raw):
        raise Rejected(fault)
    return raw.decode()


def _decode(text: str, at: int) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise Rejected("JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Rejected(f"is not JSON: {error.msg} at column {error.colno}") from None
    except ValueError:  # an integer of thousands of digits
        raise Rejected("holds a number that is too long") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Rejected(f"gives the key {twice[:40]!r} twice")
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
