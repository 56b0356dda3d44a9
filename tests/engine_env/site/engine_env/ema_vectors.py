"""Decision vectors of stock SGLang's adaptive depth rule: the installed class driven on seeded feedback.

``python -m engine_env.ema_vectors tests/vectors/policies/sglang_ema.json`` rewrites the file.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

ABOUT = (
    "Made by engine_env/ema_vectors.py from sglang 0.5.23's AdaptiveSpeculativeParams. Before batch i it "
    "is asked get_steps_for_batch(feedback[i][0]), which gives steps_before_each_batch[i]; then it is fed "
    "feedback[i] = [batch size, [accepted drafts of every request]]. config null: the class's own default. "
    "cuda_graph_bs: the batch sizes given to set_cuda_graph_bs, or null. final_ema: float64 of every slot "
    "after the last batch. refused: configs the class will not take."
)
ONE = {"1": {"candidate_steps": [1, 3, 5, 7]}}
KEYED = {
    "1": {"candidate_steps": [1, 2, 4, 6]},
    "4": {"candidate_steps": [0, 1, 3]},
    "16": {"candidate_steps": [0, 2]},
}


def one(steps, **more):
    """A config of one slot for every batch size."""
    return {"1": {"candidate_steps": steps, **more}}


#: name -> (config, initial steps, rounds, batch sizes, how the feedback is drawn, cuda_graph_bs)
CASES = {
    "default-b1": (None, 3, 300, "one", "phases", None),
    "default-b1-from-7": (None, 7, 300, "one", "phases", None),
    "default-b1-from-0": (None, 0, 300, "one", "phases", None),
    "default-b1-all-accepted": (None, 3, 60, "one", "all", None),
    "default-b1-none-accepted": (None, 7, 60, "one", "none", None),
    "default-mixed": (None, 3, 300, "small", "phases", None),
    "default-wide": (None, 3, 120, "wide", "phases", None),
    "default-jumping": (None, 1, 120, "jump", "phases", None),
    "default-late": (None, 5, 300, "small", "late", None),
    "default-graph-padded": (None, 3, 200, "wide-few", "phases", [1, 2, 4, 8, 16, 32]),
    "default-graph-short": (None, 3, 200, "wide-few", "phases", [2, 4]),
    "defaults-of-a-slot": (ONE, 5, 300, "one", "phases", None),
    "start-not-a-candidate": (one([2, 4, 6]), 3, 200, "one", "phases", None),
    "start-not-a-candidate-even": (one([1, 2, 4, 8]), 3, 200, "one", "phases", None),
    "single-candidate": (one([4]), 4, 80, "small", "phases", None),
    "single-zero": (one([0]), 3, 80, "small", "phases", None),
    "unsorted-repeated": (one([7, 1, 3, 3, 5, 1]), 3, 200, "one", "phases", None),
    "every-depth": (one([0, 1, 2, 3, 4, 5, 6, 7]), 3, 300, "one", "phases", None),
    "zero-and-deep": (one([0, 3, 6]), 3, 300, "one", "phases", None),
    "zero-one": (one([0, 1]), 1, 300, "one", "poor", None),
    "probe-from-zero": (one([0, 1, 3]), 0, 300, "one", "poor", None),
    "probe-from-zero-good": (one([0, 1, 3, 5]), 0, 300, "one", "phases", None),
    "zero-late": (one([0, 1, 3]), 3, 300, "one", "late-poor", None),
    "up-hysteresis": (one([1, 3, 5, 7], up_hysteresis=0.4), 3, 300, "one", "phases", None),
    "up-hysteresis-negative": (one([1, 3, 5, 7], up_hysteresis=-0.6), 3, 300, "small", "phases", None),
    "down-hysteresis-zero": (one([1, 3, 5, 7], down_hysteresis=0.0), 3, 300, "one", "phases", None),
    "down-hysteresis-wide": (one([0, 1, 3, 5], down_hysteresis=-0.75), 3, 300, "one", "phases", None),
    "down-hysteresis-positive": (one([0, 1, 3, 5], down_hysteresis=0.5), 5, 300, "one", "phases", None),
    "crossed-hysteresis": (
        one([1, 2, 3, 4], up_hysteresis=-0.5, down_hysteresis=0.5),
        2,
        300,
        "one",
        "phases",
        None,
    ),
    "ceiling-1": (one([1, 3, 5, 7], ceiling_coeff=1.0), 5, 300, "one", "phases", None),
    "ceiling-1.5": (one([0, 1, 2, 4, 7], ceiling_coeff=1.5), 4, 300, "small", "phases", None),
    "ceiling-2-zero": (one([0, 3, 6], ceiling_coeff=2), 6, 300, "one", "poor", None),
    "ceiling-small": (one([0, 2, 5], ceiling_coeff=0.4), 5, 300, "one", "phases", None),
    "ceiling-negative": (one([1, 3, 5], ceiling_coeff=-1), 3, 120, "one", "phases", None),
    "alpha-1": (one([0, 1, 3, 5, 7], ema_alpha=1.0), 3, 300, "one", "phases", None),
    "alpha-0": (one([1, 3, 5], ema_alpha=0.0), 3, 60, "one", "phases", None),
    "alpha-0.1": (one([1, 3, 5, 7], ema_alpha=0.1), 3, 400, "one", "phases", None),
    "ties-down": (
        one([0, 1, 2, 3, 5], ema_alpha=1.0, up_hysteresis=0.5, down_hysteresis=0.5),
        *(2, 300, "one", "phases", None),
    ),
    "ties-up": (
        one([1, 2, 3, 5], ema_alpha=1.0, up_hysteresis=0.5, update_interval=1),
        *(2, 300, "one", "phases", None),
    ),
    "ties-at-ceiling": (
        one([1, 2, 3, 4, 6], ema_alpha=1.0, ceiling_coeff=1, down_hysteresis=-2.0, update_interval=1),
        *(4, 300, "one", "phases", None),
    ),
    "ceiling-never-below-1": (
        one([0, 1, 2, 3], ema_alpha=1.0, ceiling_coeff=1, down_hysteresis=-2.0),
        *(2, 200, "one", "poor", None),
    ),
    "climbs-several-rungs": (
        one([1, 2, 3, 4, 5], up_hysteresis=-1.6, down_hysteresis=-2.5),
        *(1, 200, "one", "phases", None),
    ),
    "probe-from-zero-all": (one([0, 1, 3, 5]), 0, 80, "one", "all", None),
    "interval-1": (one([1, 2, 3, 5], update_interval=1), 2, 300, "one", "phases", None),
    "interval-7": (one([1, 2, 3, 5], update_interval=7, warmup_batches=3), 2, 300, "one", "phases", None),
    "warmup-0": (one([0, 1, 3, 5], warmup_batches=0, update_interval=1), 3, 200, "one", "phases", None),
    "warmup-100": (one([1, 3, 5], warmup_batches=100), 3, 200, "one", "phases", None),
    "keyed": (KEYED, 2, 300, "small", "phases", None),
    "keyed-shared-keys": (
        {**KEYED, "ema_alpha": 0.5, "update_interval": 2, "note": "x"},
        4,
        300,
        "small",
        "phases",
        None,
    ),
    "keyed-slot-beats-shared": (
        {"warmup_batches": 0, "ceiling_coeff": 1.2, "1": {"candidate_steps": [1, 3, 6], "warmup_batches": 20}}
        | {"3": {"candidate_steps": [0, 2, 4], "ceiling_coeff": 0, "ema_alpha": 0.35}},
        3,
        300,
        "small",
        "phases",
        None,
    ),
    "keyed-lowest-above-one": (
        {"4": {"candidate_steps": [1, 3]}, "12": {"candidate_steps": [0, 1], "update_interval": 3}},
        3,
        200,
        "small",
        "phases",
        None,
    ),
    "keyed-graph-padded": (KEYED, 2, 300, "small", "phases", [1, 2, 4, 8, 16]),
    "keyed-jumping-late": (KEYED, 4, 200, "jump", "late", None),
}
REFUSED = [
    {},
    {"candidate_steps": [1, 3, 5]},
    {"candidate_steps": [1, 3], "1": {"ema_alpha": 0.1}},
    {"1": {"candidate_steps": []}},
    {"1": {"candidate_steps": [1, -1]}},
    {"1": {"candidate_steps": [1, 2.5]}},
    {"1": {"candidate_steps": 3}},
    {"1": {"candidate_steps": ["3"]}},
    {"one": {"candidate_steps": [1, 3]}},
    {"-1": {"candidate_steps": [1, 3]}},
]


def stock(config, initial_steps):
    """The installed rule, built from a config object or from its own default."""
    from sglang.srt.speculative.adaptive_spec_params import AdaptiveSpeculativeParams

    if config is None:
        return AdaptiveSpeculativeParams(initial_steps)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        return AdaptiveSpeculativeParams(initial_steps, str(path))


def batch_sizes(kind, rounds, rng):
    """One batch size a round: constant, wandering, or jumping."""
    if kind == "one":
        return [1] * rounds
    if kind == "jump":
        return [rng.choice((1, 2, 7, 8, 31, 33)) if i % 3 else 1 for i in range(rounds)]
    low, high, step = {"small": (1, 9, 1), "wide-few": (1, 40, 6), "wide": (1, 70, 9)}[kind]
    size, sizes = low, []
    for _ in range(rounds):
        size = min(high, max(low, size + rng.randint(-step, step)))
        sizes.append(size)
    return sizes


def accepted(kind, size, depth, i, rng):
    """Accepted drafts of ``size`` requests at ``depth``; quality changes in phases of about 40 rounds."""
    if kind in ("all", "none"):
        return [depth if kind == "all" else 0] * size
    top = 0.45 if "poor" in kind else 0.97
    p = (0.05, 0.9, 0.6, 0.3, 0.97, 0.75)[i // 37 % 6]
    return [sum_of_chain(min(p, top), depth, rng) for _ in range(size)]


def sum_of_chain(p, depth, rng):
    """Length of a run of successes of probability ``p``, at most ``depth``."""
    run = 0
    while run < depth and rng.random() < p:
        run += 1
    return run


def make_case(name):
    """Drive the stock rule through one named case and note the depth it wanted before every batch."""
    config, initial, rounds, sizes, kind, graph = CASES[name]
    rng = random.Random(name)
    rule = stock(config, initial)
    rule.set_cuda_graph_bs(graph)
    feedback, steps, previous = [], [], initial
    for i, size in enumerate(batch_sizes(sizes, rounds, rng)):
        depth = rule.get_steps_for_batch(size)
        row = accepted(kind, size, previous if "late" in kind else depth, i, rng)
        rule.on_verify_complete(row, size)
        feedback.append([size, row])
        steps.append(depth)
        previous = depth
    return {
        **{"name": name, "config": config, "initial_steps": initial, "cuda_graph_bs": graph},
        "final_ema": {str(bs): slot.ema_accept_len for bs, slot in rule._slots.items()},
        "steps_before_each_batch": steps,
        "feedback": feedback,
    }


def make_all():
    """The whole file as an object."""
    return {"about": ABOUT, "cases": [make_case(name) for name in CASES], "refused": REFUSED}


def dumps(vectors):
    """JSON text, one case a line."""

    def compact(value):
        return json.dumps(value, separators=(",", ":"))

    head = f'{{"about":{compact(vectors["about"])},\n"refused":{compact(vectors["refused"])},\n"cases":[\n'
    return head + ",\n".join(compact(case) for case in vectors["cases"]) + "\n]}\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(dumps(make_all()))
