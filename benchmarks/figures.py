"""How well the rule chooses: against the best static depth, at depth 0 and back, where nothing changes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from figure_sets import (
    K_MAX,
    SINK,
    WINDOW,
    public_sets,
    shipped_sets,
    stationary_set,
    switching_set,
)

from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.presets import PRESETS
from adaptive_depth.policies.cost_model import LinearCost
from adaptive_depth.policies.spec import parse_spec
from adaptive_depth.policies.types import Candidates, CostModel
from adaptive_depth.sim.engine.constant import replay_constant
from adaptive_depth.sim.engine.dense import ReplayOptions, replay_dense
from adaptive_depth.sim.engine.hindsight import static_ladder
from adaptive_depth.sim.engine.replayed import Replayed
from adaptive_depth.sim.engine.trace_set import TraceSet
from adaptive_depth.sim.replay_set import policy_candidates

LAG, SEEDS = 2, 12
PUBLIC = Path(__file__).parents[2] / "shared" / "data" / "dense"
#: Milliseconds of a round that does not depend on the context: A + B · depth.
AFFINE = {"q35-b200": (14.04, 0.71), "q122-b200": (14.1, 2.07), "nem-b200": (14.0, 1.97)}
EVERYWHERE = -0.2
FLOORS = {
    ("instructcoder-eagle", "q35-b200"): 4.0,
    ("instructcoder-eagle", "q122-b200"): 5.0,
    ("instructcoder-eagle", "nem-b200"): 5.0,
    ("mix", "q35-b200"): 2.2,
    ("mix", "q122-b200"): 2.8,
    ("mix", "nem-b200"): 2.8,
}


class Verdicts:
    """Counts what missed its floor."""

    def __init__(self) -> None:
        self.missed = 0

    def __call__(self, good: bool) -> str:
        self.missed += not good
        return "pass" if good else "FAIL"


def affine(name: str) -> LinearCost:
    """A round of A + B · depth milliseconds: the first draft is verified, later ones are drafted too."""
    a, b = AFFINE[name]
    return LinearCost(v0=1e-3 * (a - b), v1=1e-3 * b)


def played(rule: str, trace: TraceSet, choices: Candidates, cost: CostModel, lanes: int = 0) -> Replayed:
    """Replay one rule at the figures' lag."""
    spec = parse_spec(rule)
    own = policy_candidates(spec, trace, choices)
    controller = build_controller(spec, candidates=own, cost=cost, strict=True)
    return replay_dense(trace, controller, cost, ReplayOptions(lag=LAG, lanes=lanes), watch=(0,))


def cells(public: dict[str, TraceSet]) -> Iterator[tuple[str, str, TraceSet, TraceSet]]:
    """(set, preset, the set at full context, the set with windows)."""
    for name, trace in {**public, "stationary": stationary_set()}.items():
        for preset in PRESETS:
            yield name, preset, trace, trace.with_windows((WINDOW,), SINK)
    for name, (preset, trace) in shipped_sets().items():
        yield name, preset, trace, trace


def figure_3(public: dict[str, TraceSet], verdict: Verdicts) -> None:
    """Tokens/s of ``marginal`` and of SGLang's rule against the best static choice, in percent."""
    kinds: dict[str, Callable[[str], CostModel]] = {
        "A+B·k": affine,
        "preset, windows": PRESETS.__getitem__,
        "A+B·k, one server": affine,
    }
    for kind, cost_of in kinds.items():
        print(f"\nfigure 3, {kind}: % above the best static choice at lag {LAG}")
        print(f"{'set':24}{'cost':12}{'best':>8}{'marginal':>10}{'sglang-ema':>12}{'floor':>7}")
        for name, preset, full, windowed in cells(public):
            trace = windowed if kind.startswith("preset") else full
            windows = trace.windows if kind.startswith("preset") else (0,)
            start = WINDOW if WINDOW in windows else 0
            choices = Candidates(tuple(range(K_MAX + 1)), windows, SINK, 3, start)
            lanes = 1 if "one" in kind else 0
            print(cell(name, preset, trace, choices, cost_of(preset), lanes, verdict), flush=True)


def cell(
    name: str,
    preset: str,
    trace: TraceSet,
    choices: Candidates,
    cost: CostModel,
    lanes: int,
    verdict: Verdicts,
) -> str:
    """One line of figure 3."""
    ladder = static_ladder(trace, choices, cost, ReplayOptions())
    best = ladder.runs[ladder.best].tokens_per_second
    ours, theirs = (
        100 * (played(rule, trace, choices, cost, lanes).tokens_per_second / best - 1)
        for rule in ("marginal", "sglang-ema")
    )
    floor = FLOORS.get((name, preset), EVERYWHERE)
    best_name = f"{ladder.best[0]}@{ladder.best[1]}"
    line = f"{name:24}{preset:12}{best_name:>8}{ours:>+10.2f}{theirs:>+12.2f}{floor:>+7.1f}"
    return f"{line}  {verdict(ours >= floor)}, {verdict(ours >= theirs)} against sglang-ema"


def figure_4(verdict: Verdicts) -> None:
    """To depth 0 where nothing is accepted, and back where acceptance returns."""
    print("\nfigure 4, depth 0: rounds to it (<= 30), % lost to plain decoding (<= 2), rounds back (<= 60)")
    choices = Candidates(tuple(range(K_MAX + 1)), (WINDOW,), SINK, 3, WINDOW)
    for name, cost in PRESETS.items():
        reached, lost, back = [], [], []
        for seed in range(SEEDS):
            dead = switching_set(seed, [(3000, 0.02)]).with_windows((WINDOW,), SINK)
            run = played("marginal", dead, choices, cost)
            plain = replay_constant(dead, 0, WINDOW, cost)
            reached.append(first(path_of(run)[2] == 0))
            lost.append(100 * (1 - run.tokens_per_second / plain.tokens_per_second))
            back.append(rounds_back(seed, choices, cost))
        ok = max(reached) <= 30, max(lost) <= 2, float(np.median(back)) <= 60
        found = zip((reached, lost, back), ok, strict=True)
        print(f"{name:12}" + "  ".join(f"{spread(values)} {verdict(good)}" for values, good in found))


def rounds_back(seed: int, choices: Candidates, cost: CostModel) -> int:
    """Rounds after acceptance returns until a depth whose static rate is within 2 % of the best."""
    levels = [(1500, 2.7), (1500, 0.0), (3000, 2.7)]
    trace = switching_set(seed, levels).with_windows((WINDOW,), SINK)
    rest = switching_set(seed, levels[2:]).with_windows((WINDOW,), SINK)
    rates = [replay_constant(rest, k, WINDOW, cost).tokens_per_second for k in choices.depths]
    good = np.flatnonzero(np.array(rates) >= 0.98 * max(rates))
    _, position, depth, _, _ = path_of(played("marginal", trace, choices, cost))
    return first(np.isin(depth[position >= 3000], good))


def figure_5(verdict: Verdicts) -> None:
    """Switches where nothing changes."""
    print("\nfigure 5, mean accepted 2.0: switches per 1,000 rounds (<= 10)")
    choices = Candidates(tuple(range(K_MAX + 1)), (0,), SINK, 3, 0)
    for name in PRESETS:
        rates = []
        for seed in range(4):
            run = played("marginal", stationary_set(seed, 8, 4096), choices, affine(name), lanes=1)
            rates.append(1000 * run.switches / run.group_rounds)
        print(f"{name:12}{spread(rates)}  {verdict(max(rates) <= 10)}")


def path_of(run: Replayed) -> np.ndarray:
    """The rounds of the watched request."""
    assert run.path is not None
    return run.path


def first(mask: np.ndarray) -> int:
    """Index of the first true; the length where there is none."""
    return int(mask.argmax()) if mask.any() else len(mask)


def spread(values: Iterable[float]) -> str:
    """Median and worst."""
    listed = list(values)
    return f"median {np.median(listed):.1f}, worst {max(listed):.1f}"


def main() -> int:
    """Print every figure; 1 where a floor is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--public", type=Path, default=PUBLIC, help="folder of dense recordings to import")
    verdict = Verdicts()
    public = parser.parse_args().public
    figure_4(verdict)
    figure_5(verdict)
    figure_3(public_sets(public), verdict)
    print(f"\n{verdict.missed} missed")
    return int(verdict.missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
