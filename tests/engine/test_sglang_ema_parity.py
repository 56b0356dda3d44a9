"""Stock SGLang's depth rule: the stored vectors and our ``sglang-ema`` are what the installed class does."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

VECTORS = Path(__file__).parents[1] / "vectors" / "policies" / "sglang_ema.json"


def test_vectors_are_what_the_installed_class_does():
    """Driven afresh on the same feedback, it takes the recorded steps and ends on the recorded EMA."""
    from engine_env.ema_vectors import make_all

    stored, fresh = json.loads(VECTORS.read_text()), json.loads(json.dumps(make_all()))
    assert [case["name"] for case in stored["cases"]] == [case["name"] for case in fresh["cases"]]
    for old, new in zip(stored["cases"], fresh["cases"], strict=True):
        assert old == new, old["name"]


def test_refused_configs_are_refused_by_the_installed_class():
    """Every config listed as refused raises when the stock rule is built from it."""
    from engine_env.ema_vectors import stock

    for config in json.loads(VECTORS.read_text())["refused"]:
        with pytest.raises(ValueError, match=r"candidate_steps|must contain at least one"):
            stock(config, 3)


@pytest.mark.parametrize("seed", range(60))
def test_our_rule_takes_the_same_steps(seed):
    """On a random config and random feedback ``sglang-ema`` and the installed class never differ."""
    from engine_env.ema_vectors import stock

    from adaptive_depth.policies.sglang_ema import SglangEma
    from adaptive_depth.policies.sglang_ema_config import SglangEmaConfig
    from adaptive_depth.policies.types import Candidates

    rng = random.Random(seed)
    config, initial = random_config(rng), rng.randint(0, 7)
    padding = sorted(rng.sample(range(1, 20), 4)) if rng.random() < 0.3 else []
    theirs = stock(config, initial)
    theirs.set_cuda_graph_bs(padding)
    depths = tuple(sorted({*theirs.candidate_steps, initial}))
    ours = SglangEma(
        SglangEmaConfig(adaptive=config, cuda_graph_bs=tuple(padding)),
        Candidates(depths=depths, start_depth=initial),
    )
    for _ in range(150):
        size = rng.choice((1, 1, 1, 2, 3, 8, 17))
        depth = theirs.get_steps_for_batch(size)
        assert depth_of(ours, size) == depth
        accepted = [min(depth + rng.choice((0, 0, 0, 1)), rng.choice((0, 1, 2, 4, 9))) for _ in range(size)]
        theirs.on_verify_complete(accepted, size)
        observe(ours, accepted, depth)


def random_config(rng):
    """A config as an operator might write it, each key now set, now left out, now shared by all slots."""
    numbers = {
        "ema_alpha": lambda: rng.choice((0.0, 0.1, 0.5, 1.0)),
        "update_interval": lambda: rng.randint(1, 4),
        "warmup_batches": lambda: rng.randint(0, 8),
        "down_hysteresis": lambda: rng.choice((-1.0, -0.25, 0.0, 0.5)),
        "up_hysteresis": lambda: rng.choice((-1.6, -0.5, 0.0, 0.5)),
        "ceiling_coeff": lambda: rng.choice((0, 0, 0.5, 1, 1.7)),
    }

    def some(share):
        return {name: draw() for name, draw in numbers.items() if rng.random() < share}

    keys = rng.choice((("1",), ("1", "3"), ("2", "8", "16")))
    slots = {key: {"candidate_steps": rng.sample(range(8), rng.randint(1, 5))} | some(0.5) for key in keys}
    return some(0.4) | slots


def depth_of(rule, size):
    """The depth our rule plans for one batch of ``size`` requests."""
    from adaptive_depth.policies.types import BatchView

    rows = np.arange(size, dtype=np.int32)
    length = np.full(size, 100, np.int64)
    plan = rule.plan(BatchView(rows, np.zeros(size, np.int32), length, length), None)
    return int(plan.depth[0])


def observe(rule, accepted, depth):
    """Give our rule one round of one batch."""
    from adaptive_depth.policies.types import RoundResult

    size = len(accepted)
    rows, whole = np.arange(size, dtype=np.int32), np.full(size, depth, np.int8)
    rule.observe(
        RoundResult(
            plan_id=0, slot=rows, group=np.zeros(size, np.int32), context=np.full(size, 100, np.int64),
            depth=whole, window=np.zeros(size, np.int32), accepted=np.array(accepted, np.int8),
            seconds=np.array([np.nan]),
        )
    )  # fmt: skip
