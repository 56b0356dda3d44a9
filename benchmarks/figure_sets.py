"""What the figures are measured on: public dense sets where they are at hand, shipped ones, simple ones."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from adaptive_depth.controller.presets import MODELS
from adaptive_depth.sim.engine.trace_set import TraceSet, from_block
from adaptive_depth.sim.import_folder import import_all
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import DenseBlock
from adaptive_depth.traces.store import find_traces, read_trace
from adaptive_depth.traces.synth_simple import phases, stationary

SHIPPED = Path(__file__).parents[1] / "traces" / "data"
CONTEXT, WINDOW, SINK, K_MAX = 1_040_000, 4032, 64, 8


def public_sets(folder: Path) -> dict[str, TraceSet]:
    """The dense recordings below ``folder`` and the shuffled mix of both EAGLE sets, at 1.04M tokens."""
    if not folder.is_dir():
        print(f"no public sets: {folder} does not exist; skipped")
        return {}
    with tempfile.TemporaryDirectory() as scratch:
        import_all([folder], Path(scratch), lambda line: print(line, file=sys.stderr))
        blocks = [read_trace(path) for path in find_traces([Path(scratch)])]
    sets = {
        header.trace_set.removeprefix("specdecode_bench_"): from_block(header, block).at_context(CONTEXT)
        for header, block in blocks
        if isinstance(block, DenseBlock)
    }
    eagle = [trace for name, trace in sets.items() if name.endswith("eagle")]
    return {**sets, "mix": mixed(eagle)} if len(eagle) > 1 else sets


def mixed(sets: list[TraceSet]) -> TraceSet:
    """All requests in one random order."""
    requests = [
        trace.accepted[0, trace.start[r] : trace.start[r + 1]]
        for trace in sets
        for r in range(trace.requests)
    ]
    requests = [requests[r] for r in np.random.default_rng(0).permutation(len(requests))]
    start = np.concatenate([[0], np.cumsum([len(counts) for counts in requests])]).astype(np.int64)
    context = np.full(len(requests), CONTEXT)
    return replace(sets[0], name="mix", context=context, start=start, accepted=np.concatenate(requests)[None])


def shipped_sets() -> dict[str, tuple[str, TraceSet]]:
    """The synthetic sets of the repository with the preset of their model."""
    return {
        header.trace_set: (MODELS[header.model], from_block(header, block))
        for header, block in map(read_trace, find_traces([SHIPPED]))
        if isinstance(block, DenseBlock)
    }


def stationary_set(seed: int = 0, requests: int = 32, tokens: int = 1024) -> TraceSet:
    """Acceptance that never moves: 2.0 drafts accepted on average at full depth."""
    rng = np.random.default_rng(seed)
    return simple(stationary(rng, mean_accepted=2.0, requests=requests, tokens=tokens, k_max=K_MAX))


def switching_set(seed: int, levels: list[tuple[int, float]]) -> TraceSet:
    """One request through phases of ``(tokens, mean accepted)``."""
    return simple(phases(np.random.default_rng(seed), levels, requests=1, k_max=K_MAX))


def simple(block: DenseBlock) -> TraceSet:
    """A block of the full window as a trace set."""
    header = TraceHeader(
        kind="dense", trace_set="simple", origin="synthetic", k_max=K_MAX, windows=(0,), sink=SINK
    )
    return from_block(header, block)
