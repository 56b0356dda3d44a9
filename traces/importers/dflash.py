"""DFlash benchmark JSON: accept lengths and wall time of every round, samples one after another.

``acceptance_lengths`` include the bonus; a block of ``block_size`` tokens holds ``block_size - 1`` drafts.
Step timestamps are milliseconds since the sample's decode began. Warm-up samples hold compile stalls of
seconds: they are kept, and their workload says ``warm-up`` so that a cost fit can leave them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Importer, Item, Problem, Progress, Rejected, each_record
from adaptive_depth.traces.importers.fields import DEEPEST, label, number, section, whole, wholes
from adaptive_depth.traces.importers.head import Head
from adaptive_depth.traces.importers.json_source import json_records
from adaptive_depth.traces.importers.naming import set_name, source
from adaptive_depth.traces.importers.rounds import Rounds, RoundsBuilder, commit
from adaptive_depth.traces.records import F64, I64, UNKNOWN


def matches(head: Head) -> bool:
    """A record holds samples with acceptance lengths."""
    return any("acceptance_lengths" in sample for record in head.records for sample in _samples(record))


def convert(path: Path, progress: Progress) -> Iterator[Item]:
    """Yield rounds pieces, one request a sample."""

    def one(line: int, record: object) -> Iterator[Item]:
        run = section(record, "record")
        config = section(run.get("config", {}), "config")
        builder = RoundsBuilder(_header(path, config))
        if not _samples(run):
            raise Rejected("holds no per_sample records")
        for index, sample in enumerate(_samples(run)):
            try:
                yield from builder.add(_request(index, sample, config))
            except Rejected as reason:
                yield Problem(path, line, f"sample {index}: {reason}")
        yield from builder.flush()

    yield from each_record(path, json_records(path, progress), one)


def _samples(run: dict[str, Any]) -> list[dict[str, Any]]:
    found = run.get("per_sample")
    return [s for s in found if isinstance(s, dict)] if isinstance(found, list) else []


def _request(index: int, sample: dict[str, Any], config: dict[str, Any]) -> Rounds:
    accepted = wholes(sample.get("acceptance_lengths"), "acceptance_lengths", 1, DEEPEST + 1) - 1
    _check_count(sample, len(accepted))
    output = sample.get("dflash_num_output_tokens")
    known = None if output is None else whole(output, "dflash_num_output_tokens")
    position, emitted, tokens = commit(accepted, known)
    warm = " warm-up" if sample.get("is_warmup") is True else ""
    return Rounds(
        label(sample.get("sample_index"), str(index)),
        accepted,
        position,
        emitted,
        tokens,
        workload=label(config.get("dataset"), "unknown") + warm,
        context=whole(sample.get("num_input_tokens", UNKNOWN), "num_input_tokens", UNKNOWN),
        depth=_depth(config),
        seconds=_seconds(sample, accepted),
        batch=1,
    )


def _check_count(sample: dict[str, Any], rounds: int) -> None:
    if "num_drafts" in sample and whole(sample["num_drafts"], "num_drafts") != rounds:
        raise Rejected(f"num_drafts is {sample['num_drafts']}, but there are {rounds} acceptance_lengths")


def _depth(config: dict[str, Any]) -> int:
    return (
        whole(config["block_size"], "block_size", 1, DEEPEST + 1) - 1 if "block_size" in config else UNKNOWN
    )


def _seconds(sample: dict[str, Any], accepted: I64) -> F64 | float:
    """Wall time of each round, f64[M]; NaN where the sample has no timestamps."""
    steps = sample.get("dflash_step_timestamps_ms")
    if steps is None:
        return float("nan")
    if not isinstance(steps, list) or len(steps) != len(accepted):
        raise Rejected("dflash_step_timestamps_ms does not have one entry a round")
    entries = [section(step, "a timestamp") for step in steps]
    ends = np.array([number(entry.get("ms"), "ms") for entry in entries])
    seconds = np.diff(ends, prepend=0.0) / 1e3
    if (seconds < 0).any():
        raise Rejected("step timestamps run backwards")
    return seconds


def _header(path: Path, config: dict[str, Any]) -> TraceHeader:
    temperature = config.get("temperature")
    return TraceHeader(
        kind="rounds",
        origin="imported",
        trace_set=set_name(path),
        model=label(config.get("target_model"), "unknown"),
        drafter=label(config.get("draft_model"), "unknown"),
        temperature=None if temperature is None else number(temperature, "temperature"),
        provenance=f"DFlash benchmark, {source(path)}",
        notes="workloads ending in 'warm-up' hold compile stalls; not for cost fits",
    )


IMPORTER = Importer("dflash", matches, convert)
