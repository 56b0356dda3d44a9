"""Spec-Bench JSON Lines: ``choices[].accept_lengths``, one accept length a round with the bonus.

The turns of a question follow each other in one list; ``decoding_steps`` and ``new_tokens`` say how many
rounds and tokens each had. The drafters draft trees and the file does not say how deep: depth is unknown.
Wall times are per turn, so the seconds of a round are unknown too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Progress, Rejected, each_record
from adaptive_depth.traces.importers.fields import DEEPEST, label, section, whole, wholes
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.json_source import json_records
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.rounds import Rounds, commit
from adaptive_depth.traces.importers.sampler_sets import SamplerSets
from adaptive_depth.traces.records import I64

_TEMPERATURE = re.compile(r"temp(?:erature)?[-_]?(\d{1,3}(?:\.\d{1,6})?)")


def matches(head: Head) -> bool:
    """Records hold choices with accept lengths."""
    return any("accept_lengths" in choice for record in head.records for choice in choices(record))


def choices(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects under ``choices``; empty where there are none."""
    found = record.get("choices")
    return [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield rounds pieces, one request a choice."""
    sets = SamplerSets(_header(path))

    def one(line: int, record: object) -> Iterator[Item]:
        fields = section(record, "record")
        found, model = choices(fields), fields.get("model_id")
        if not found:
            raise Rejected("holds no choices")
        for index, choice in enumerate(found):
            request = _request(line, fields, choice, index)
            yield from sets.add(request, temperature_of(model), label(model, ""))

    yield from each_record(path, json_records(path, progress), one)
    yield from sets.flush()


def temperature_of(model_id: object) -> float | None:
    """The temperature that Spec-Bench writes into its model names.

    >>> temperature_of("vicuna-7b-v1.3-eagle-float16-temperature-0.0")
    0.0
    """
    found = _TEMPERATURE.search(model_id) if isinstance(model_id, str) else None
    return float(found[1]) if found else None


def _request(line: int, record: dict[str, Any], choice: dict[str, Any], index: int) -> Rounds:
    accepted = wholes(choice.get("accept_lengths"), "accept_lengths", 1, DEEPEST + 1) - 1
    steps, tokens = _per_turn(choice, "decoding_steps"), _per_turn(choice, "new_tokens")
    position, emitted, output = _commit(accepted, steps, tokens)
    name = label(record.get("question_id", record.get("article_idx")), f"line {line}")
    workload = label(record.get("category"), "unknown")
    return Rounds(f"{name}/{index}" if index else name, accepted, position, emitted, output, workload)


def _per_turn(choice: dict[str, Any], name: str) -> I64 | None:
    value = choice.get(name)
    if value is None:
        return None
    return wholes(value, name) if isinstance(value, list) else np.array([whole(value, name)])


def _commit(accepted: I64, steps: I64 | None, tokens: I64 | None) -> tuple[I64, I64, int]:
    """Commit turn by turn where the turns are known."""
    if steps is None or tokens is None:
        return commit(accepted, None if tokens is None else int(tokens.sum()))
    if len(steps) != len(tokens):
        raise Rejected(f"decoding_steps has {len(steps)} turns, new_tokens {len(tokens)}")
    if int(steps.sum()) != len(accepted):
        return _uneven(accepted, steps, tokens)
    at, done, parts = 0, 0, []
    for rounds, output in zip(steps.tolist(), tokens.tolist(), strict=True):
        if rounds:
            position, emitted, output = commit(accepted[at : at + rounds], output)
            parts.append((position + done, emitted))
        at, done = at + rounds, done + output
    return np.concatenate([p for p, _ in parts]), np.concatenate([e for _, e in parts]), done


def _uneven(accepted: I64, steps: I64, tokens: I64) -> tuple[I64, I64, int]:
    """One more recorded round a turn than the engine counted is the round in flight at the end."""
    extra = len(accepted) - int(steps.sum())
    if not 0 < extra <= len(steps):
        raise Rejected(f"{len(accepted)} accept_lengths, but decoding_steps sum to {int(steps.sum())}")
    return commit(accepted, int(tokens.sum()), turns=len(steps))


def _header(path: Path) -> TraceHeader:
    return TraceHeader(
        kind="rounds",
        origin="imported",
        trace_set=set_name(path),
        provenance=f"Spec-Bench, {source(path)}",
        notes="tree drafts of unknown depth; k_max is the deepest accepted",
    )


IMPORTER = Importer("spec-bench", matches, convert)
