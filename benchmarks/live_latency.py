"""Latency of one decision in a server: plan + observe of one group, for every rule, in microseconds."""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy

import gc
import time

import numpy as np

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.default_candidates import default_candidates
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.registry import entries
from adaptive_depth.policies.spec import parse_spec
from adaptive_depth.policies.types import BatchView, Candidates, RoundResult

ROUNDS, WARM, CONTEXT = 2_000, 200, 1_000_000
WINDOWS = (4032, 0, 1024)
#: Median microseconds that ``marginal`` may take at one window.
CEILINGS = {1: 60.0, 64: 300.0}


def latencies(rule: str, batch: int, windows: int) -> np.ndarray:
    """Microseconds of plan + observe by round, feedback one round late."""
    own = default_candidates(parse_spec(rule).config()) if rule == "sglang-ema" else Candidates()
    choices = Candidates(own.depths, WINDOWS[:windows], 64, own.start_depth, WINDOWS[0])
    controller = build_controller(rule, candidates=choices, cost=preset("q35-b200"), strict=True)
    slot, group = np.arange(batch, dtype=np.int32), np.zeros(batch, np.int32)
    would = np.minimum(np.random.default_rng(0).geometric(0.35, (ROUNDS + WARM, batch)) - 1, 100)
    context, generated = np.full(batch, CONTEXT), np.zeros(batch, np.int64)
    taken, waiting = [], []
    for accepted in would:
        begun = time.perf_counter()
        view = BatchView(slot, group, context, generated)
        plan = controller.plan(view)
        planned = time.perf_counter()
        depth = plan.row_depth(view)
        accepted = np.minimum(accepted, depth).astype(np.int8)
        waiting.append((plan, context, depth, accepted))
        context, generated = context + accepted + 1, generated + accepted + 1
        resumed = time.perf_counter()
        if len(waiting) > 1:
            plan, at, depth, accepted = waiting.pop(0)
            seconds = np.array([0.02])
            controller.observe(
                RoundResult(plan.plan_id, slot, group, at, depth, plan.window, accepted, seconds)
            )
        taken.append(planned - begun + time.perf_counter() - resumed)
    return 1e6 * np.array(taken[WARM:])


def main() -> None:
    """Print median and 99th percentile of every rule, and whether ``marginal`` is within its ceilings."""
    gc.disable()
    missed = False
    print(f"plan + observe, one group at {CONTEXT:,} tokens, µs: median (99th percentile)")
    print(f"{'rule':18}{'windows':>8}" + "".join(f"{f'B={batch}':>18}" for batch in (1, 8, 64)))
    for rule in (entry.name for entry in entries()):
        for windows in (1, 3):
            line = f"{rule:18}{windows:8}"
            for batch in (1, 8, 64):
                taken = latencies(rule, batch, windows)
                median, late = np.quantile(taken, [0.5, 0.99])
                line += f"{f'{median:.0f} ({late:.0f})':>18}"
                missed |= rule == "marginal" and windows == 1 and median > CEILINGS.get(batch, np.inf)
            print(line)
    print(f"marginal at one window: {'above' if missed else 'within'} the ceilings {CEILINGS} µs")


if __name__ == "__main__":
    main()
