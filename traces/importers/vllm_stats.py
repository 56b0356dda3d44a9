"""vLLM and AIPerf request statistics: ``per_step_accepted`` with ``per_step_drafted``, or an acceptance
histogram.

All counts exclude the bonus. Grammar may invalidate drafts, so a round may have drafted fewer than
configured: what it really drafted is its depth. Steps without any draft are not listed: where there are some,
positions lag behind the output. Histograms come dense (vLLM) or sparse as ``{count: steps}`` (AIPerf); their
order is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Progress, Rejected, each_record
from adaptive_depth.traces.importers.fields import DEEPEST, number, wholes
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.histogram import dense_histogram, expand, require_equal
from adaptive_depth.traces.importers.json_source import json_records
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.nested import Found, find
from adaptive_depth.traces.importers.rounds import Rounds, RoundsBuilder, commit
from adaptive_depth.traces.records import I64, UNKNOWN

_LENGTH_TOLERANCE = 0.0051


def matches(head: Head) -> bool:
    """A record holds per-step lists or an acceptance histogram."""
    return any(True for record in head.records for _ in find(record, is_stats))


def is_stats(place: dict[str, Any]) -> bool:
    """Whether an object holds the statistics itself."""
    return "per_step_accepted" in place or ("acceptance_histogram" in place and "num_spec_steps" in place)


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield rounds pieces: requests with per-step lists in ``<set>-rounds``, histograms in ``<set>``."""
    ordered, unordered = RoundsBuilder(_header(path, True)), RoundsBuilder(_header(path, False))

    def one(line: int, record: object) -> Iterator[Item]:
        found = list(find(record, is_stats))
        if not found:
            raise Rejected("holds neither per_step_accepted nor an acceptance_histogram")
        for stats in found:
            builder = unordered if stats.stats.get("per_step_accepted") is None else ordered
            yield from builder.add(_request(stats, f"line {line}"))

    yield from each_record(path, json_records(path, progress), one)
    yield from unordered.flush()
    yield from ordered.flush()


def _request(found: Found, otherwise: str) -> Rounds:
    steps = found.stats.get("per_step_accepted")
    accepted, depth = _from_histogram(found) if steps is None else _from_steps(found)
    _check_counters(found, accepted)
    position, emitted, output = _commit(accepted, found.count("completion_tokens"))
    return Rounds(
        found.name(otherwise),
        accepted,
        position,
        emitted,
        output,
        stop_reason=found.stop_reason(),
        context=found.context(),
        depth=depth,
    )


def _commit(accepted: I64, completion: int | None) -> tuple[I64, I64, int]:
    """As :func:`commit`, but the output may be longer: steps without a draft are not listed."""
    listed = int(accepted.sum()) + len(accepted)
    position, emitted, output = commit(accepted, None if completion is None else min(completion, listed + 1))
    return position, emitted, max(output, completion or 0)


def _from_steps(found: Found) -> tuple[I64, I64 | int]:
    accepted = wholes(found.stats["per_step_accepted"], "per_step_accepted", 0, DEEPEST)
    if found.stats.get("per_step_drafted") is None:
        return accepted, UNKNOWN
    drafted = wholes(found.stats["per_step_drafted"], "per_step_drafted", 0, DEEPEST)
    if len(accepted) != len(drafted):
        raise Rejected(f"{len(accepted)} entries in per_step_accepted, {len(drafted)} in per_step_drafted")
    require_equal(found.stats.get("num_draft_tokens"), "num_draft_tokens", int(drafted.sum()), "Σ drafted")
    if found.stats.get("acceptance_histogram"):
        histogram = dense_histogram(found.stats["acceptance_histogram"], "acceptance_histogram")
        if not np.array_equal(np.sort(accepted), expand(histogram)):
            raise Rejected("acceptance_histogram does not count the entries of per_step_accepted")
    return accepted, drafted


def _from_histogram(found: Found) -> tuple[I64, int]:
    """The depth is known only if no round drafted less than configured."""
    histogram = found.stats.get("acceptance_histogram")
    accepted = expand(dense_histogram(histogram, "acceptance_histogram"))
    configured, drafted = found.count("num_spec_tokens"), found.count("num_draft_tokens")
    full = configured is not None and drafted == configured * len(accepted)
    return accepted, configured if full and configured is not None else UNKNOWN


def _check_counters(found: Found, accepted: I64) -> None:
    rounds, correct = len(accepted), int(accepted.sum())
    require_equal(found.stats.get("num_spec_steps"), "num_spec_steps", rounds, "the number of rounds")
    name = "num_accepted_draft_tokens"
    require_equal(found.stats.get(name), name, correct, "Σ accepted over the rounds")
    length = found.stats.get("mean_acceptance_length")
    if length is None:
        return
    if abs(number(length, "mean_acceptance_length") - 1 - correct / rounds) > _LENGTH_TOLERANCE:
        raise Rejected(
            f"mean_acceptance_length is {length:.4g}, but the rounds give {1 + correct / rounds:.4g}"
        )


def _header(path: Path, ordered: bool) -> TraceHeader:
    return TraceHeader(
        kind="rounds",
        origin="imported",
        trace_set=set_name(path) + ("-rounds" if ordered else ""),
        ordered=ordered,
        engine="vllm",
        provenance=f"vLLM request statistics, {source(path)}",
        notes="" if ordered else "rounds expanded from histograms",
    )


IMPORTER = Importer("vllm-stats", matches, convert)
