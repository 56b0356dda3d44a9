"""Makers of the plugin's events, shared by the tests of everything that listens to them."""

import pytest

from adaptive_depth.runtime_hooks.events import (
    ForgetEvent,
    Mark,
    RoundEvent,
    RowEvent,
    StageSeconds,
    StartEvent,
)


@pytest.fixture
def start_event():
    """A plugin that starts with the bandit over depths 0, 1, 3, 5 and a window of 512."""
    policy = {"version": 1, "policy": "bandit", "parameters": {}, "cost": "q35-b200"}
    backend = {"model": "org/model", "algorithm": "NEXTN", "device": "cpu"}
    return StartEvent(
        1000.0, policy, {"sglang": "0.5.23"}, (0, 1, 3, 5), (0, 512), 16, 3, 0, True, False, backend
    )


@pytest.fixture
def round_event():
    """``round_event(number, rows, depth=3, ...)``: a row is (rid, accepted), "end" or "stale"."""

    def make(number, rows, depth=3, before=3, reason="hold", seconds=0.02, window=0, marks=Mark.NONE, **more):
        made = tuple(
            RowEvent(
                *(rid, slot, 100 + 4 * number, 1 + 4 * number, window, depth, accepted),
                emitted=0 if "stale" in end else accepted + 1,
                finished="end" in end,
                stale="stale" in end,
            )
            for slot, (rid, accepted, *end) in enumerate(rows)
        )
        stages = StageSeconds(0.004, 0.012, 0.003, seconds, 0.0001)
        when = 1000.0 + 0.02 * (number + 1)
        return RoundEvent(
            *(number, when, depth, reason, before, made, stages, marks),
            **{"planned": 2 * number, "observed": 2 * number + 1, "sample": seconds, **more},
        )

    return make


@pytest.fixture
def forget_event():
    """``forget_event(rid, why)``."""
    return lambda rid, why="finished": ForgetEvent(1001.0, (0,), (rid,), why, 99)
