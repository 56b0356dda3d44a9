"""The pull request's rule: same decisions as a plain transcription, and what it cannot do."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from adaptive_depth.policies.cost_model import LinearCost, Load
from adaptive_depth.policies.throughput_aware import ThroughputAware, ThroughputAwareConfig
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, RoundResult
from adaptive_depth.traces.errors import ConfigError

COST = LinearCost(v0=0.010, v1=0.0002, v2=1e-8, v3=2e-9, f0=0.001, f1=0.0001, f2=1e-9)
CANDIDATES = Candidates()


class Plain:
    """One group, one deque a position, no arrays."""

    def __init__(self, depth: int):
        self.depth, self.rounds = depth, 0
        self.windows = [deque(maxlen=20) for _ in range(7)]

    def rates(self) -> list[float | None]:
        out: list[float | None] = []
        for k, window in enumerate(self.windows):
            if window:
                out.append(sum(window) / len(window))
            elif k == 0 or out[-1] is None or (k > 1 and out[0] <= 0):
                out.append(None)
            else:
                out.append(out[-1] * ((out[-1] / out[0]) ** (1 / (k - 1)) if k > 1 else 1.0))
        return out

    def plan(self, rows: int) -> int:
        if self.rounds >= 5:
            self.rounds = 0
            if all(len(self.windows[k]) == 20 for k in range(self.depth)):
                self.decide(rows)
        return self.depth

    def decide(self, rows: int) -> None:
        load, rates, scores = (
            Load(*(np.array([float(v)]) for v in (rows, *(rows * 128,) * 3))),
            self.rates(),
            {},
        )
        for depth in (1, 2, 3, 5, 7):
            if None not in rates[:depth]:
                scores[depth] = (1 + sum(rates[:depth])) / COST.seconds(load, np.array([depth]))[0, 0]
        best = max(scores, key=scores.__getitem__)
        if scores[best] > 1.1 * scores[self.depth]:
            for k in range(best if best < self.depth else 7, 7):
                self.windows[k].clear()
            self.depth = best

    def observe(self, depth: int, accepted: list[int]) -> None:
        self.rounds += 1
        for k in range(depth):
            self.windows[k].append(sum(a > k for a in accepted) / len(accepted))


def result(batch: BatchView, depth: list[int], accepted: np.ndarray) -> RoundResult:
    rows = batch.spread(np.array(depth, np.int8))
    nothing = np.full(len(batch.groups), np.nan)
    return RoundResult(
        0, batch.slot, batch.group, batch.context, rows, rows * 0, accepted.astype(np.int8), nothing
    )


def test_decides_like_a_plain_transcription():
    """Groups of 1, 2 and 5 requests whose acceptance wanders, results two rounds late, 900 rounds."""
    rng, sizes = np.random.default_rng(5), [1, 2, 5]
    group = np.repeat(np.arange(3, dtype=np.int32), sizes)
    rule, plain = ThroughputAware(ThroughputAwareConfig(), CANDIDATES), [Plain(3) for _ in sizes]
    late, seen = [], set()
    for turn in range(900):
        context = np.full(8, 1000 * turn, np.int64)
        batch = BatchView(group, group, context, context)
        depth = rule.plan(batch, Estimates(None, COST)).depth.tolist()
        assert depth == [p.plan(n) for p, n in zip(plain, sizes, strict=True)]
        seen.update(depth)
        accept = 0.5 + 0.5 * np.sin(turn / 70 + group)
        chains = np.logical_and.accumulate(rng.random((8, 7)) < accept[:, None], axis=1).sum(axis=1)
        late.append((batch, depth, np.minimum(chains, np.array(depth)[group])))
        if len(late) > 2:
            old, ran, accepted = late.pop(0)
            rule.observe(result(old, ran, accepted))
            for g, one in enumerate(plain):
                one.observe(ran[g], accepted[group == g].tolist())
    assert seen >= {1, 3, 7}


def test_a_deeper_start_window_and_the_context_change_nothing():
    """The cost is asked at the profile's context, whatever the request holds."""
    asked = []

    class Spy(LinearCost):
        def seconds(self, load, depths):
            asked.append((load.context.tolist(), load.reads.tolist()))
            return super().seconds(load, depths)

    rule = ThroughputAware(
        ThroughputAwareConfig(), Candidates(windows=(0, 32), sink=4, start_window=32, start_depth=1)
    )
    batch = BatchView(*(np.zeros(2, np.int32),) * 2, *(np.full(2, 900_000),) * 2)
    for _ in range(26):
        rule.plan(batch, Estimates(None, Spy(v0=1.0)))
        rule.observe(result(batch, [1], np.ones(2)))
    assert asked == [([256], [72.0])] * len(asked) and asked


def test_starts_at_the_start_depth_or_the_upper_median():
    """Depth 0 is no candidate of this rule."""
    starts = {
        depth: ThroughputAware(ThroughputAwareConfig(), Candidates((0, 1, 3, 5), start_depth=depth))
        .plan(BatchView(*(np.zeros(1, np.int32),) * 2, *(np.ones(1, np.int64),) * 2), Estimates(None, COST))
        .depth.item()
        for depth in (0, 1, 5)
    }
    assert starts == {0: 3, 1: 1, 5: 5}
    with pytest.raises(ConfigError, match="above 0"):
        ThroughputAware(ThroughputAwareConfig(), Candidates((0,), start_depth=0))


@pytest.mark.parametrize(
    "bad",
    [{"window_size": 0}, {"update_interval": 0}, {"switch_hysteresis": -0.1}, {"profile_seq_len": 0}],
    ids=str,
)
def test_refuses_parameters_that_mean_nothing(bad):
    """Named in the message."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        ThroughputAwareConfig(**bad)
