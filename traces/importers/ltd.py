"""EAGLE / LTD evaluation records: ``choices[].pre_num`` with the depth of every round in ``dyn_depths``.

``pre_num`` is the accept length of a round with the bonus. Three traps:

* one round of lag: ``dyn_depths[i]`` is chosen after round i and governs round i + 1; what governed the
  first round is not recorded;
* the draft tree has one level more than the number says, so the chain of round i + 1 is ``dyn_depths[i] +
  1``;
* with several turns ``pre_num`` covers the last turn only, ``dyn_depths`` all of them.

``dtimes`` holds the drafting time only, so the seconds of a round are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Progress, Rejected, each_record
from adaptive_depth.traces.importers.fields import DEEPEST, label, section, wholes
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.json_source import json_records
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.rounds import Rounds, commit
from adaptive_depth.traces.importers.sampler_sets import SamplerSets
from adaptive_depth.traces.importers.spec_bench import choices, temperature_of
from adaptive_depth.traces.records import I64, UNKNOWN


def matches(head: Head) -> bool:
    """Records hold choices with ``pre_num``."""
    return any("pre_num" in choice for record in head.records for choice in choices(record))


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield rounds pieces, one request a choice (its last turn)."""
    sets = SamplerSets(_header(path))

    def one(line: int, record: object) -> Iterator[Item]:
        fields = section(record, "record")
        model, found = fields.get("model_id"), choices(fields)
        if not found:
            raise Rejected("holds no choices")
        for index, choice in enumerate(found):
            name = label(fields.get("question_id"), f"line {line}")
            request = _request(f"{name}/{index}" if index else name, choice)
            yield from sets.add(request, temperature_of(model), label(model, ""))

    yield from each_record(path, json_records(path, progress), one)
    yield from sets.flush()


def governing_depths(levels: I64, rounds: int, turn_rounds: I64) -> I64:
    """Chain depth of each of the last turn's ``rounds``, i64[rounds]; -1 for the first, which none governs.

    ``levels`` is ``dyn_depths`` over all turns, ``turn_rounds`` the rounds of each turn. Raises
    :class:`Rejected` where the two lists cannot be aligned.
    """
    if len(levels) == rounds - 1:
        governing = levels
    elif len(levels) == rounds or (len(levels) == turn_rounds.sum() and rounds == turn_rounds[-1]):
        governing = levels[len(levels) - rounds : -1]
    else:
        raise Rejected(f"{len(levels)} dyn_depths do not fit {rounds} rounds of turns {turn_rounds.tolist()}")
    return np.concatenate([[UNKNOWN], governing + 1])


def _request(name: str, choice: dict[str, Any]) -> Rounds:
    accepted = wholes(choice.get("pre_num"), "pre_num", 1, DEEPEST + 1) - 1
    output = wholes(choice["new_tokens"], "new_tokens")[-1] if "new_tokens" in choice else None
    position, emitted, tokens = commit(accepted, None if output is None else int(output))
    return Rounds(name, accepted, position, emitted, tokens, depth=_depth(choice, len(accepted)))


def _depth(choice: dict[str, Any], rounds: int) -> I64 | int:
    if "dyn_depths" not in choice:
        return UNKNOWN
    levels = wholes(choice["dyn_depths"], "dyn_depths", 0, DEEPEST - 1)
    turns = wholes(choice["idxs"], "idxs") + 1 if "idxs" in choice else np.array([rounds])
    return governing_depths(levels, rounds, turns)


def _header(path: Path) -> TraceHeader:
    return TraceHeader(
        kind="rounds",
        origin="imported",
        trace_set=set_name(path),
        provenance=f"EAGLE/LTD evaluation, {source(path)}",
        notes="last turn of each question; tree drafts, depth = dyn_depths of the round before + 1",
    )


IMPORTER = Importer("ltd", matches, convert)
