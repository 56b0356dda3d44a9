"""Replays traces through policies: from files and a request to the rows of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from adaptive_depth.controller.build import DEFAULT_COST
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.controller.presets import (
    FITTED_CONTEXT,
    MODELS,
    PAPER_SINK,
    PAPER_WINDOW,
    PRESETS,
    preset,
)
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
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import IntervalsBlock, RoundsBlock
from adaptive_depth.traces.store import TraceReader


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayJob:
    """What to replay; everything but the traces.

    ``depths`` and ``windows`` limit the candidates (default: 0 to 8, and the windows recorded); ``context``
    prices every request at that many prompt tokens. ``cost`` and ``cost_name`` are settled per trace where
    the name is ``auto``: the preset of the trace's model. With ``own_context`` a preset prices contexts it
    was never fitted to.
    """

    policies: tuple[tuple[str, PolicySpec | PolicyFile], ...]
    cost_name: str
    cost: CostModel
    options: ReplayOptions = field(default_factory=ReplayOptions)
    context: int | None = None
    own_context: bool = False
    depths: tuple[int, ...] | None = None
    windows: tuple[int, ...] | None = None
    seed: int = 0


def replay_paths(
    paths: Iterable[Path],
    job: ReplayJob,
    complain: Callable[[str], None],
    advance: Callable[[int, str], None],
) -> ReplayReport:
    """Replay every trace at or below ``paths``.

    ``complain`` gets a line for what is unusable, ``advance`` the tokens done.
    """
    report = ReplayReport([])
    readers = list(open_traces(paths, complain))
    for reader, name in zip(readers, _names(readers), strict=True):
        try:
            _replay_file(reader, name, job, report, advance)
        except AdaptiveDepthError as error:
            complain(f"{reader.path}: {error}")
        for problem in reader.problems:
            complain(str(problem))
    return report


def _names(readers: list[TraceReader]) -> list[str]:
    """The sets' names; several files of one name would read as one set, so each is called by its path too."""
    count = Counter(reader.header.trace_set for reader in readers)
    names = [reader.header.trace_set for reader in readers]
    return [
        name if count[name] == 1 else f"{name} ({reader.path})"
        for name, reader in zip(names, readers, strict=True)
    ]


def _replay_file(
    reader: TraceReader,
    name: str,
    job: ReplayJob,
    report: ReplayReport,
    advance: Callable[[int, str], None],
) -> None:
    header = reader.header.model_copy(update={"trace_set": name})
    job = _priced(job, header)
    blocks = list(reader.blocks())
    if not blocks:
        raise AdaptiveDepthError("holds no usable request")
    block = concat_blocks(blocks)
    if isinstance(block, IntervalsBlock):
        report.rows.extend(interval_rows(header, block, job))
        return
    if not block.output_tokens.any():
        raise AdaptiveDepthError("holds no output token to replay")
    if isinstance(block, RoundsBlock):
        trace = complete_rounds(header, block, job.seed)
    else:
        trace = from_block(header, block)
    rows, pictures = replay_set(_placed(trace, job), job, advance)
    report.rows.extend(rows)
    report.pictures.append(pictures)


def _priced(job: ReplayJob, header: TraceHeader) -> ReplayJob:
    """The job at the cost of this trace's model, where the cost is left to the trace."""
    if job.cost_name != AUTO:
        return job
    name = MODELS.get(header.model, DEFAULT_COST)
    return replace(job, cost_name=name, cost=preset(name))


def _placed(trace: TraceSet, job: ReplayJob) -> TraceSet:
    """The trace at the job's context and windows.

    A preset says nothing of contexts far below the published ones, so a trace of short prompts is priced as
    the paper served: at 1.04M tokens and its window.
    """
    windows, context = job.windows, job.context
    short = trace.context.max(initial=0) < FITTED_CONTEXT[0]
    if context is None and short and job.cost_name in PRESETS and not job.own_context:
        context, windows = FITTED_CONTEXT[1], windows or (PAPER_WINDOW,)
    if windows is not None:
        trace = trace.with_windows(windows, PAPER_SINK)
    return trace if context is None else trace.at_context(context)


#: The cost name that leaves the preset to the trace's model.
AUTO = "auto"
