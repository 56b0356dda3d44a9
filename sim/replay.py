"""Replays traces through policies: from files and a request to the rows of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.policies.cost_model import CostModel
from adaptive_depth.policies.spec import PolicySpec
from adaptive_depth.sim.complete_rounds import complete_rounds
from adaptive_depth.sim.engine.dense import ReplayOptions
from adaptive_depth.sim.engine.trace_set import TraceSet, from_block
from adaptive_depth.sim.replay_intervals import interval_rows
from adaptive_depth.sim.replay_report import ReplayReport
from adaptive_depth.sim.replay_set import replay_set
from adaptive_depth.sim.trace_input import open_traces
from adaptive_depth.traces.blocks import concat_blocks
from adaptive_depth.traces.errors import AdaptiveDepthError
from adaptive_depth.traces.records import DenseBlock, IntervalsBlock, RoundsBlock
from adaptive_depth.traces.store import TraceReader


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayJob:
    """What to replay; everything but the traces.

    ``depths`` and ``windows`` limit the candidates (default: 0 to 8, and the windows recorded); ``context`` prices every
    request at that many prompt tokens.
    """

    policies: tuple[tuple[str, PolicySpec | PolicyFile], ...]
    cost_name: str
    cost: CostModel
    options: ReplayOptions = field(default_factory=ReplayOptions)
    context: int | None = None
    depths: tuple[int, ...] | None = None
    windows: tuple[int, ...] | None = None
    seed: int = 0


def replay_paths(
    paths: Iterable[Path],
    job: ReplayJob,
    complain: Callable[[str], None],
    advance: Callable[[int, str], None],
) -> ReplayReport:
    """Replay every trace at or below ``paths``; ``complain`` gets a line for what is unusable, ``advance`` tokens done."""
    report = ReplayReport([])
    for reader in open_traces(paths, complain):
        try:
            _replay_file(reader, job, report, advance)
        except AdaptiveDepthError as error:
            complain(f"{reader.path}: {error}")
        for problem in reader.problems:
            complain(str(problem))
    return report


def _replay_file(
    reader: TraceReader, job: ReplayJob, report: ReplayReport, advance: Callable[[int, str], None]
) -> None:
    blocks = list(reader.blocks())
    if not blocks:
        raise AdaptiveDepthError("holds no usable request")
    block = concat_blocks(blocks)
    if isinstance(block, IntervalsBlock):
        report.rows.extend(interval_rows(reader.header, block, job))
        return
    if isinstance(block, RoundsBlock):
        trace = complete_rounds(reader.header, block, job.seed)
    else:
        trace = from_block(reader.header, cast(DenseBlock, block))
    rows, pictures = replay_set(_placed(trace, job), job, advance)
    report.rows.extend(rows)
    report.pictures.append(pictures)


def _placed(trace: TraceSet, job: ReplayJob) -> TraceSet:
    """The trace at the job's context and windows."""
    if job.windows is not None:
        trace = trace.with_windows(job.windows, SINK)
    return trace if job.context is None else trace.at_context(job.context)


#: Sink tokens that go with an assumed window: the paper's.
SINK = 64
