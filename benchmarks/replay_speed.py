"""Speed of the replay: 10^5 lanes, 10^7 positions, one core; against the plain loop on some of the lanes."""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
import plain_loop

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.types import Candidates
from adaptive_depth.sim.engine.constant import replay_constant
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense
from adaptive_depth.sim.engine.trace_set import TraceSet

LANES, TOKENS, K_MAX = 100_000, 100, 7
DEPTHS, START = tuple(range(1, K_MAX + 1)), 3
SAMPLE, REPEATS = 100, 5
FLOORS = {"marginal": 20.0, "static": 50.0}
MEMORY_GIB = 2.0


def lanes_of_requests() -> TraceSet:
    """One request a lane; every one accepts at its own level, at contexts across all bands."""
    rng = np.random.default_rng(0)
    accept = np.repeat(rng.uniform(0.4, 0.85, LANES).astype(np.float32), TOKENS)
    accepted, alive = np.zeros(LANES * TOKENS, np.int8), np.ones(LANES * TOKENS, bool)
    for _ in range(K_MAX):
        alive &= rng.random(len(alive), dtype=np.float32) < accept
        accepted += alive
    context, start = rng.integers(1_000, 900_000, LANES), np.arange(LANES + 1) * TOKENS
    return TraceSet("speed", "synthetic", (0,), 0, K_MAX, context, start, accepted[None])


def clocked(play: Callable[[], int]) -> float:
    """Nanoseconds of processor time a round."""
    begun = time.process_time()
    rounds = play()
    return 1e9 * (time.process_time() - begun) / rounds


def main() -> None:
    """Print decisions/s, ns a round, and the ratios beside their floors."""
    trace, cost = lanes_of_requests(), preset("q35-b200")
    candidates = Candidates(DEPTHS, start_depth=START)
    with_zero = Candidates((0, *DEPTHS), start_depth=START)
    accepted = trace.accepted[0, : SAMPLE * TOKENS].tolist()
    lanes = accepted, trace.start[: SAMPLE + 1].tolist(), trace.context[:SAMPLE].tolist()

    def marginal(choices: Candidates) -> int:
        controller = build_controller("marginal", candidates=choices, cost=cost, strict=True)
        return int(replay_dense(trace, controller, cost, ReplayOptions(lanes=LANES)).rounds.sum())

    plays = {
        "marginal": lambda: marginal(candidates),
        "marginal, plain loop": lambda: sum(
            plain_loop.replay(plain_loop.Marginal(list(DEPTHS), START), *lanes, cost)[1]
        ),
        "marginal with depth 0": lambda: marginal(with_zero),
        "static": lambda: int(replay_constant(trace, START, 0, cost).rounds.sum()),
        "static, plain loop": lambda: sum(plain_loop.replay(plain_loop.Static(START), *lanes, cost)[1]),
    }
    # In turn and the best of each, so that a busy machine slows all of them or none.
    best = {name: float("inf") for name in plays}
    for _ in range(REPEATS):
        for name, play in plays.items():
            best[name] = min(best[name], clocked(play))
    print(f"{LANES:,} lanes, {LANES * TOKENS:,} positions, one core, best of {REPEATS}")
    for name, ns in best.items():
        print(f"{name:24}{1e3 / ns:8.2f} M decisions/s{ns:10.1f} ns/round")
    report({name: best[f"{name}, plain loop"] / best[name] for name in FLOORS})


def report(ratios: dict[str, float]) -> None:
    """Ratios and memory against their floors."""
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.1f} x the plain loop (floor {FLOORS[name]:g} x)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gib = peak / (2**30 if sys.platform == "darwin" else 2**20)
    print(f"peak memory {gib:.2f} GiB (limit {MEMORY_GIB:g} GiB)")


if __name__ == "__main__":
    main()
