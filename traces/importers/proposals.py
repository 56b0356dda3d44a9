"""Per-token proposal logs (vLLM, one JSON line a drafted or bonus token) as rounds.

Rows carry ``round``, ``batch`` (index of the request in its batch), ``pos_in_round`` and
``actually_accepted``; the row of a bonus token has ``emission_source: bonus``. Rows behind the first
rejection are not written, so the depth shows only where a bonus row follows a whole chain: it is taken
where all of those agree. Unused fields may hold -Infinity. A neighbour ``..._run.json`` says how many
tokens the engine counted: the round in flight when the end was seen is recorded, but committed nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Problem, Progress, Rejected, each_record
from adaptive_depth.traces.importers.fields import DEEPEST, ROUNDS_LIMIT, label, number, section, whole
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.json_source import json_records, neighbour
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.rounds import Rounds, RoundsBuilder, commit
from adaptive_depth.traces.records import I64, UNKNOWN


@dataclass(slots=True)
class _Request:
    """Rounds of one request while their rows come in."""

    accepted: dict[int, int] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    bonus_at: set[int] = field(default_factory=set)


def matches(head: Head) -> bool:
    """Records are proposal rows."""
    wanted = {"round", "pos_in_round", "emission_source"}
    return any(wanted <= record.keys() for record in head.records)


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield one rounds piece; a bad row costs its round, because what follows it no longer counts on."""
    requests: dict[int, _Request] = defaultdict(_Request)

    def one(line: int, record: object) -> Iterator[Item]:
        _take(requests, section(record, "record"))
        return iter(())

    yield from each_record(path, json_records(path, progress), one)
    run = neighbour(path, "proposals.jsonl", "run.json")
    config = neighbour(path, "proposals.jsonl", "config.json")
    builder = RoundsBuilder(_header(path, config))
    for batch, request in sorted(requests.items()):
        try:
            if lost := len(request.rows.keys() - request.ended):
                yield Problem(path, 0, f"request {batch}: {lost} rounds without their last row are left out")
            alone = len(requests) == 1 and not lost
            yield from builder.add(_finish(str(batch), request, run if alone else {}))
        except Rejected as reason:
            yield Problem(path, 0, f"request {batch}: {reason}")
    yield from builder.flush()


def _take(requests: dict[int, _Request], row: dict[str, Any]) -> None:
    batch = whole(row.get("batch", 0), "batch", 0, 1 << 16)
    number_of_round = whole(row.get("round"), "round", 0, ROUNDS_LIMIT)
    position = whole(row.get("pos_in_round"), "pos_in_round", 0, DEEPEST)
    bonus = row.get("emission_source") == "bonus"
    accepted = row.get("actually_accepted", False)
    if not isinstance(accepted, bool):  # truthy text would count
        raise Rejected(f"actually_accepted is {str(accepted)[:20]}, expected true or false")
    request = requests[batch]
    if position != request.rows.get(number_of_round, 0):
        raise Rejected(f"pos_in_round is {position} in round {number_of_round}: a row is missing or doubled")
    request.rows[number_of_round] = position + 1
    request.accepted[number_of_round] = request.accepted.get(number_of_round, 0) + (accepted and not bonus)
    if bonus:
        request.bonus_at.add(position)
    if bonus or not accepted:
        request.ended.add(number_of_round)


def _finish(name: str, request: _Request, run: dict[str, Any]) -> Rounds:
    order = sorted(request.ended)
    if not order:
        raise Rejected("no round is complete")
    accepted = np.array([request.accepted[i] for i in order], np.int64)
    tokens = run.get("output_tokens")
    position, emitted, output = commit(accepted, None if tokens is None else whole(tokens, "output_tokens"))
    return Rounds(
        name,
        accepted,
        position,
        emitted,
        output,
        stop_reason=label(run.get("finish_reason"), "unknown"),
        context=whole(run.get("input_tokens", UNKNOWN), "input_tokens", UNKNOWN),
        depth=_depth(request, accepted),
    )


def _depth(request: _Request, accepted: I64) -> int:
    """The chain length that every bonus row agrees on, else unknown."""
    if len(request.bonus_at) != 1:
        return UNKNOWN
    depth = next(iter(request.bonus_at))
    return depth if int(accepted.max()) <= depth else UNKNOWN


def _header(path: Path, config: dict[str, Any]) -> TraceHeader:
    return TraceHeader(
        kind="rounds",
        origin="imported",
        trace_set=set_name(path),
        engine=label(config.get("backend"), "vllm"),
        model=label(config.get("model"), "unknown"),
        drafter=label(config.get("draft_model"), "unknown"),
        temperature=_temperature(config),
        provenance=f"per-token proposals, {source(path)}",
    )


def _temperature(config: dict[str, Any]) -> float | None:
    """The neighbour's temperature; one that is no number is not worth losing the rounds for."""
    try:
        return number(config.get("temperature"), "temperature")
    except Rejected:
        return None


IMPORTER = Importer("proposals", matches, convert)
