"""Every rule's decisions on a shipped trace, as exact integers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.registry import entries
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense
from adaptive_depth.sim.engine.trace_set import TraceSet, from_block
from adaptive_depth.traces.blocks import select_requests
from adaptive_depth.traces.store import read_trace

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "traces" / "data" / "synthetic-1m" / "q35-code-qa.trace.parquet"
VECTORS = ROOT / "tests" / "vectors" / "sim" / "golden_replay.json"
ABOUT = (
    "First 24 requests of traces/data/synthetic-1m/q35-code-qa, windows 0, 2048 and 4032 (sglang-ema: 4032), "
    "cost q35-b200, lag 2, two lanes; made by pytest --update-vectors, checked by test_golden_replay.py."
)
REQUESTS, LANES, WINDOWS = 24, 2, (0, 2048, 4032)


@pytest.fixture(scope="module")
def trace() -> TraceSet:
    header, block = read_trace(TRACE)
    return from_block(header, select_requests(block, range(REQUESTS)))


def decide(rule: str, trace: TraceSet) -> dict[str, Any]:
    depths = (0, 1, 3, 5, 7)
    windows = WINDOWS if rule != "sglang-ema" else (4032,)
    candidates = Candidates(depths, windows, trace.sink, start_depth=3, start_window=4032)
    cost = preset("q35-b200")
    controller = build_controller(rule, candidates=candidates, cost=cost, strict=True)
    run = replay_dense(trace, controller, cost, ReplayOptions(lag=2, lanes=LANES))
    return {
        "rounds": run.rounds.tolist(),
        "depth_sum": run.depth_sum.tolist(),
        "switches": run.switches,
        "depth_histogram": {str(k): n for k, n in run.depth_histogram.items()},
        "window_histogram": {str(w): n for w, n in run.window_histogram.items()},
    }


def test_every_rule_has_golden_integers():
    """A rule added to the registry cannot go without."""
    known = json.loads(VECTORS.read_text())["rules"]
    assert sorted(known) == sorted(entry.name for entry in entries())


@pytest.mark.parametrize("rule", [entry.name for entry in entries()])
def test_decisions_are_the_golden_ones(rule: str, trace: TraceSet, request: pytest.FixtureRequest):
    """Rounds, depths, windows and switches of every rule, request by request."""
    got = decide(rule, trace)
    if request.config.getoption("--update-vectors"):
        vectors = json.loads(VECTORS.read_text()) if VECTORS.exists() else {"about": ABOUT, "rules": {}}
        vectors["rules"][rule] = got
        VECTORS.write_text(json.dumps(vectors, indent=1, sort_keys=True) + "\n")
    assert got == json.loads(VECTORS.read_text())["rules"][rule]
    assert sum(got["depth_histogram"].values()) == sum(got["rounds"])
