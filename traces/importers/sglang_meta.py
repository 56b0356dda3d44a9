"""SGLang responses: the speculation counts of ``meta_info``, bare, nested in a response, one or many a
file.

Two forms. A histogram (``spec_correct_drafts_histogram``, older ``spec_accept_histogram``) says how often
each accepted count occurred; the order is lost. ``speculative_decoding_stats`` (SGLang PR 34814) lists
``verify_lengths`` and ``accept_lengths`` of every round, both with the bonus row and before any stop cuts
them.

A record must satisfy the identities of SGLang PR 33518 or it is named and left out: the histogram sums to
``spec_verify_ct``; weighted by its index it sums to the correct drafts; the proposed drafts are k a round;
the rounds commit the completion tokens, less what a stop cut and plus at most the one token that prefill
sampled. The printed rates are not used: they have been defined in four ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Progress, Rejected, each_record
from adaptive_depth.traces.importers.fields import DEEPEST, number, wholes
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.histogram import dense_histogram, expand, require_equal
from adaptive_depth.traces.importers.json_source import json_records
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.nested import Found, find
from adaptive_depth.traces.importers.rounds import Rounds, commit
from adaptive_depth.traces.importers.sampler_sets import SamplerSets
from adaptive_depth.traces.records import I64, UNKNOWN

HISTOGRAMS = ("spec_correct_drafts_histogram", "spec_accept_histogram")
_CORRECT = ("spec_num_correct_drafts", "spec_accept_token_num")
_PROPOSED = ("spec_num_proposed_drafts", "spec_draft_token_num")
_STATS = "speculative_decoding_stats"
#: Printed lengths may be rounded to two decimals.
_LENGTH_TOLERANCE = 0.0051


def matches(head: Head) -> bool:
    """A record holds speculation counts in one of the two forms."""
    return any(True for record in head.records for _ in find(record, is_stats))


def is_stats(place: dict[str, Any]) -> bool:
    """Whether an object holds speculation counts itself."""
    detailed = place.get(_STATS)
    inside = isinstance(detailed, dict) and "accept_lengths" in detailed
    own = "accept_lengths" in place and "verify_lengths" in place
    return inside or own or "spec_verify_ct" in place or any(name in place for name in HISTOGRAMS)


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield rounds pieces: requests with ordered rounds in ``<set>-rounds``, histograms in ``<set>``."""
    ordered = SamplerSets(_header(path, ordered=True))
    unordered = SamplerSets(_header(path, ordered=False))

    def one(line: int, record: object) -> Iterator[Item]:
        found = list(find(record, is_stats))
        if not found:
            raise Rejected("holds no speculation counts (spec_verify_ct and a histogram)")
        for stats in found:
            lists = _ordered_lists(stats)
            request = _request(stats, lists, f"line {line}")
            temperature = stats.look_up("temperature")
            known = None if temperature is None else number(temperature, "temperature")
            yield from (unordered if lists is None else ordered).add(request, known)

    yield from each_record(path, json_records(path, progress), one)
    yield from unordered.flush()
    yield from ordered.flush()


def _ordered_lists(found: Found) -> dict[str, Any] | None:
    inner = found.stats.get(_STATS, found.stats)
    return inner if isinstance(inner, dict) and "accept_lengths" in inner else None


def _request(found: Found, lists: dict[str, Any] | None, otherwise: str) -> Rounds:
    accepted, depth = _from_histogram(found) if lists is None else _from_lists(found, lists)
    _check_counters(found, accepted)
    position, emitted, output = commit(accepted, found.count("completion_tokens"))
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


def _from_histogram(found: Found) -> tuple[I64, int]:
    name = next((name for name in HISTOGRAMS if found.stats.get(name) is not None), None)
    if name is None:
        raise Rejected("spec_verify_ct without a histogram: what each round accepted is lost")
    accepted = expand(dense_histogram(found.stats[name], name))
    proposed = found.count(*_PROPOSED)
    if proposed is None:
        return accepted, UNKNOWN
    depth, rest = divmod(proposed, len(accepted))
    if rest or depth > DEEPEST:
        raise Rejected(
            f"{_PROPOSED[0]} is {proposed}, which is no whole depth a round for {len(accepted)} rounds"
        )
    return accepted, depth


def _from_lists(found: Found, lists: dict[str, Any]) -> tuple[I64, I64]:
    accepted = wholes(lists["accept_lengths"], "accept_lengths", 1, DEEPEST + 1) - 1
    depth = wholes(lists.get("verify_lengths"), "verify_lengths", 1, DEEPEST + 1) - 1
    if len(accepted) != len(depth):
        raise Rejected(f"{len(accepted)} accept_lengths, but {len(depth)} verify_lengths")
    drafted, correct = int(depth.sum()), int(accepted.sum())
    require_equal(
        lists.get("num_verified_draft_tokens"), "num_verified_draft_tokens", drafted, "Σ(verify - 1)"
    )
    require_equal(
        lists.get("num_accepted_draft_tokens"), "num_accepted_draft_tokens", correct, "Σ(accept - 1)"
    )
    return accepted, depth


def _check_counters(found: Found, accepted: I64) -> None:
    """The identities between the rounds and the counters beside them."""
    rounds, correct = len(accepted), int(accepted.sum())
    require_equal(found.stats.get("spec_verify_ct"), "spec_verify_ct", rounds, "the number of rounds")
    for name in _CORRECT:
        require_equal(found.stats.get(name), name, correct, "Σ accepted over the rounds")
    length, completion = found.stats.get("spec_accept_length"), found.count("completion_tokens")
    if length is None or completion is None:
        return
    if abs(number(length, "spec_accept_length") - completion / rounds) > _LENGTH_TOLERANCE:
        raise Rejected(
            f"spec_accept_length is {length:.4g}, but {completion} tokens in {rounds} rounds are not"
        )


def _header(path: Path, ordered: bool) -> TraceHeader:
    return TraceHeader(
        kind="rounds",
        origin="imported",
        trace_set=set_name(path) + ("-rounds" if ordered else ""),
        ordered=ordered,
        engine="sglang",
        provenance=f"SGLang meta_info, {source(path)}",
        notes="" if ordered else "rounds expanded from histograms; depth is the configured width",
    )


IMPORTER = Importer("sglang-meta", matches, convert)
