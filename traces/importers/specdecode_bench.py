"""SpecDecode-Bench dense JSON Lines: the accept length of a chain started at every output position.

One record a request: ``prompt_token_ids``, ``generated_token_ids`` and, for each drafter,
``acc_<drafter>.acc_len``. The lengths include the bonus and stop at 21, so accepted = length - 1 and K_max is
20. The lists may be shorter than the output. Each drafter becomes its own trace set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_depth.traces.blocks import offsets
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Piece, Problem, Progress, Rejected
from adaptive_depth.traces.importers.fields import label, section, wholes
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.json_source import json_records
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.records import I64, UNKNOWN, DenseBlock

K_MAX = 20
DRAFTERS = {"acc_eagle": "eagle", "acc_ngram": "ngram"}
_BLOCK_REQUESTS, _BLOCK_POSITIONS = 512, 1 << 20


@dataclass(frozen=True, slots=True)
class _Request:
    request_id: str
    context: int
    accepted: I64


@dataclass(slots=True)
class _Set:
    """The requests of one drafter that wait for their block."""

    header: TraceHeader
    workload: str
    waiting: list[_Request] = field(default_factory=list)

    def add(self, request: _Request) -> Iterator[Piece]:
        self.waiting.append(request)
        positions = sum(len(r.accepted) for r in self.waiting) if len(self.waiting) % 32 == 0 else 0
        if len(self.waiting) >= _BLOCK_REQUESTS or positions >= _BLOCK_POSITIONS:
            yield from self.flush()

    def flush(self) -> Iterator[Piece]:
        if self.waiting:
            yield Piece(self.header, _block(self.waiting, self.workload))
            self.waiting = []


def matches(head: Head) -> bool:
    """Records hold an accept list of a known drafter."""
    return any(isinstance(r.get(key), dict) and "acc_len" in r[key] for r in head.records for key in DRAFTERS)


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield dense pieces; a bad list costs its drafter that request and no more."""
    sets = {key: _Set(_header(path, name), set_name(path)) for key, name in DRAFTERS.items()}
    for item in json_records(path, progress):
        if isinstance(item, Problem):
            yield item
        else:
            yield from _record(path, *item, sets)
    for one in sets.values():
        yield from one.flush()


def _record(path: Path, line: int, record: object, sets: dict[str, _Set]) -> Iterator[Item]:
    fields = record if isinstance(record, dict) else {}
    present = [key for key in DRAFTERS if key in fields]
    if not present:
        yield Problem(path, line, f"holds none of {', '.join(DRAFTERS)}")
    for key in present:
        try:
            yield from sets[key].add(_request(line, fields, key))
        except Rejected as reason:
            yield Problem(path, line, f"{key}: {reason}")


def _request(line: int, record: dict[str, Any], key: str) -> _Request:
    lengths = wholes(section(record[key], key).get("acc_len"), "acc_len", 1, K_MAX + 1)
    prompt = record.get("prompt_token_ids")
    context = len(prompt) if isinstance(prompt, list) else UNKNOWN
    return _Request(label(record.get("id"), f"line {line}"), context, lengths - 1)


def _header(path: Path, drafter: str) -> TraceHeader:
    return TraceHeader(
        kind="dense",
        origin="imported",
        trace_set=f"{set_name(path)}-{drafter}",
        k_max=K_MAX,
        drafter=drafter,
        provenance=f"SpecDecode-Bench, {source(path)}",
    )


def _block(requests: list[_Request], workload: str) -> DenseBlock:
    count = len(requests)
    return DenseBlock(
        request_id=tuple(r.request_id for r in requests),
        workload=(workload,) * count,
        stop_reason=("unknown",) * count,
        context=np.array([r.context for r in requests], np.int64),
        start=offsets([len(r.accepted) for r in requests]),
        accepted=np.concatenate([r.accepted for r in requests]).astype(np.int8)[None, :],
    )


IMPORTER = Importer("specdecode-bench", matches, convert)
