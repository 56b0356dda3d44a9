"""What every rule keeps to, whatever it decides: legal plans, untouched inputs, the same plans again."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from adaptive_depth.controller.build import build_controller, default_candidates
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.registry import Policy, entries, entry, make_policy
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Reason, RoundResult
from adaptive_depth.sim.testing import Delivery, ToyServer

WINDOWED = Candidates(windows=(0, 512, 4032), sink=64, start_window=4032)
COST = preset("q122-b200")
#: Groups of one, three and two requests; identities need not be dense.
MIXED = (2, 5, 5, 5, 9, 9)


def accept(rows: int, level: float = 0.7) -> np.ndarray:
    return np.full((rows, 7), level)


def server(name: str, group=MIXED, *, level=0.7, delivery=None, seed=0, candidates=WINDOWED) -> ToyServer:
    controller = build_controller(name, candidates=candidates, cost=COST, strict=True)
    return ToyServer(
        controller, accept=accept(len(group), level), group=group, delivery=delivery, seconds=0.02, seed=seed
    )


def history(toy: ToyServer, rounds: int) -> list:
    """Everything the rounds' plans say but their ids."""
    plans = [toy.round() for _ in range(rounds)]
    return [(p.depth.tolist(), p.window.tolist(), p.reason.tolist()) for p in plans]


def new_rule(name: str, candidates=WINDOWED) -> Policy:
    return make_policy(name, entry(name).config_type(), candidates)


def test_meets_the_interface(rule_name):
    """All members are there, and the default config builds it for the usual candidates."""
    assert isinstance(new_rule(rule_name), Policy)
    assert entry(rule_name).summary and not entry(rule_name).summary.startswith("Dict")


def test_plans_are_legal(rule_name):
    """Depth a candidate per group, window a candidate per row, a known reason; from the first round on."""
    toy = server(rule_name, level=0.9)
    for turn in range(120):
        if turn == 60:
            toy.accept = accept(6, 0.0)
        plan = toy.round()
        assert (plan.depth.dtype, plan.window.dtype, plan.reason.dtype) == (np.int8, np.int32, np.uint8)
        assert (plan.depth.shape, plan.window.shape, plan.reason.shape) == ((3,), (6,), (3,))
        assert set(plan.depth.tolist()) <= set(WINDOWED.depths)
        assert set(plan.window.tolist()) <= set(WINDOWED.windows)
        assert {Reason(reason) for reason in plan.reason.tolist()}


def test_legal_without_any_feedback(rule_name):
    """Two hundred plans and not one result."""
    toy = server(rule_name, delivery=Delivery(lost=1.0))
    history(toy, 200)
    assert toy.controller.snapshot().observed == 0 and toy.controller.snapshot().failures == 0


def test_inputs_are_not_changed(rule_name):
    """Every array given to ``plan`` and ``observe`` may be read-only."""
    rule, rows = new_rule(rule_name), len(MIXED)

    def fixed(array):
        array.setflags(write=False)
        return array

    slot, group = fixed(np.arange(rows, dtype=np.int32)), fixed(np.array(MIXED, np.int32))
    context = fixed(np.full(rows, 900_000))
    survival = fixed(np.tile(np.float32(0.8) ** np.arange(1, 8, dtype=np.float32), (rows, 3, 1)))
    for turn in range(40):
        batch = BatchView(slot, group, context, context)
        plan = rule.plan(batch, Estimates(survival, COST))
        depth, window = fixed(plan.row_depth(batch)), fixed(plan.window)
        accepted = fixed(depth // 2)
        seconds = fixed(np.full(3, 0.02))
        rule.observe(RoundResult(turn, slot, group, context, depth, window, accepted, seconds))
    assert survival[0, 0, 0] == np.float32(0.8)


def test_same_rounds_same_plans(rule_name):
    """Nothing but what it is told decides."""
    assert history(server(rule_name), 150) == history(server(rule_name), 150)


def test_instances_share_nothing(rule_name):
    """A rule that was built before another one ran is as good as new."""
    twin, busy = server(rule_name), server(rule_name, level=0.95)
    history(busy, 150)
    assert history(twin, 150) == history(server(rule_name), 150)


@pytest.mark.parametrize("rounds", [0, 7, 61])
def test_state_round_trip_continues_the_same(rule_name, rounds):
    """A new controller with the state loaded plans on as the old one does; the state is a plain copy."""
    one, other = server(rule_name, seed=3), server(rule_name, seed=3)
    history(one, rounds)
    history(other, rounds)
    state = other.controller.state_dict()
    before = copy.deepcopy(state)
    history(server(rule_name), 5)
    other.controller = server(rule_name).controller
    other.controller.load_state(state)
    assert history(one, 120) == history(other, 120)
    assert pickle.dumps(state) == pickle.dumps(before)
    assert_plain(state)


def assert_plain(value) -> None:
    """Nested dictionaries, lists, numbers, text and numeric arrays."""
    match value:
        case dict():
            for key, item in value.items():
                assert isinstance(key, str)
                assert_plain(item)
        case list() | tuple():
            for item in value:
                assert_plain(item)
        case np.ndarray():
            assert value.dtype.kind in "iufb"
        case _:
            assert value is None or isinstance(value, int | float | str)


@pytest.mark.parametrize("name", [e.name for e in entries() if e.name != "static"])
@pytest.mark.parametrize("foreign", [{}, {"version": 1, "groups": {}, "ladders": []}], ids=str)
def test_state_of_something_else_is_refused(name, foreign):
    """It raises instead of half loading. (static keeps no state.)"""
    with pytest.raises((ValueError, KeyError)):
        new_rule(name).load_state(foreign)


@pytest.mark.parametrize("lag", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "torn",
    [{}, {"lost": 0.3}, {"doubled": 0.3}, {"swapped": 0.5}, {"lost": 0.2, "doubled": 0.2, "swapped": 0.2}],
    ids=str,
)
def test_survives_any_delivery(rule_name, lag, torn):
    """Late, lost, doubled and overtaking results: no fault, and what came twice is counted."""
    toy = server(rule_name, delivery=Delivery(lag=lag, **torn))
    history(toy, 60)
    snapshot = toy.controller.snapshot()
    assert snapshot.failures == 0
    assert (snapshot.unknown_results > 0) == ("doubled" in torn)
    assert snapshot.observed > 20


def test_memory_is_bounded(rule_name):
    """100,000 rounds of groups, slots re-used all along: no larger than after a fifth of them."""
    toy = server(rule_name, group=range(200))
    sizes = []
    for turn in range(500):
        toy.round()
        toy.controller.forget(np.array([turn % 200]))
        if turn in (99, 499):
            sizes.append(len(pickle.dumps(toy.controller)))
    assert abs(sizes[1] - sizes[0]) < 2_000


@pytest.mark.parametrize("among", [tuple(range(6)), (0, 1, 2, 2, 2, 7), (2,) * 5 + (8,)], ids=str)
def test_a_group_alone_is_the_same_group_among_many(rule_name, among):
    """Given the same estimates and results, the others' presence changes none of its plans."""
    rows = np.flatnonzero(np.array(among) == 2)
    many, alone = new_rule(rule_name), new_rule(rule_name)
    rng = np.random.default_rng(11)
    for turn in range(150):
        chance = 0.5 + 0.45 * np.sin(turn / 25 + np.arange(6))[:, None, None] * np.ones((1, 3, 1))
        survival = (chance ** np.arange(1, 8)).astype(np.float32)
        chains = rng.integers(0, 8, 6).astype(np.int8)
        group = np.array(among, np.int32)
        expected = step(many, group, survival, chains, turn)
        assert step(alone, group[rows], survival[rows], chains[rows], turn) == expected


def step(rule, group, survival, chains, turn) -> tuple:
    """Plan and feed back one round; the plan of group 2."""
    alone = len(np.unique(group)) == len(group)
    slot = np.arange(len(group), dtype=np.int32)
    context = np.full(len(group), 1000 + 7000 * turn)
    batch = BatchView(slot, group, context, context, one_row_each=alone)
    plan = rule.plan(batch, Estimates(survival, COST))
    depth = plan.row_depth(batch)
    result = RoundResult(
        turn, slot, group, context, depth, plan.window, np.minimum(chains, depth), np.array([])
    )
    result.seconds, result.one_row_each = np.full(len(batch.groups), 0.02), alone
    rule.observe(result)
    which = int(np.flatnonzero(batch.groups == 2)[0])
    return int(plan.depth[which]), int(plan.reason[which]), plan.window[group == 2].tolist()


def test_default_candidates_suit_it(rule_name):
    """What is taken where nobody says can be built, and holds the start depth."""
    candidates = default_candidates(entry(rule_name).config_type())
    assert new_rule(rule_name, candidates) and candidates.start_depth in candidates.depths
