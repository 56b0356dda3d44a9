"""Rounds from plan to feedback, on stand-ins for SGLang's batch and result."""

from types import SimpleNamespace

import numpy as np
import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.runtime_hooks.events import ForgetEvent, LateStagesEvent, RoundEvent, StartEvent
from adaptive_depth.runtime_hooks.rounds import Rounds, before_result
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.timing import HostStages

START = StartEvent(0.0, {}, {}, (0, 1, 3, 5, 7), (0,), 0, 3, 0, False, False)


class Req:
    """A request as the hooks see it."""

    def __init__(self, rid, prompt=10):
        self.rid, self.origin_input_ids, self.output_ids = rid, [1] * prompt, [2]
        self.kv = SimpleNamespace(kv_committed_len=prompt)
        self.is_retracted, self.finished_len, self.done = False, None, False

    def finished(self):
        """As SGLang's."""
        return self.done


class Log:
    """A sink that keeps."""

    def __init__(self):
        self.events = []

    def put(self, event):
        """Keep."""
        self.events.append(event)


@pytest.fixture
def rounds():
    """Rounds over a learning controller, and the log of what it emits."""
    runtime = AdaptiveRuntime(build_controller("marginal"), START)
    log = Log()
    runtime.add_sink(log)
    made = Rounds(runtime, HostStages, learn_seconds=True)
    made.log = log
    return made


def batch_of(*reqs):
    """A decode batch."""
    return SimpleNamespace(reqs=list(reqs), seq_lens_cpu=None)


def finish(rounds, planned, batch, accepted, depth=None, ends=()):
    """SGLang takes a result in between our two looks."""
    depth = planned.depth if depth is None else depth
    before = before_result(batch)
    result = SimpleNamespace(
        speculative_num_draft_tokens=depth + 1, num_correct_drafts_per_req_cpu=list(accepted)
    )
    for req, count, row in zip(batch.reqs, accepted, before, strict=True):
        if not row.gone:
            req.output_ids += [3] * (count + 1)
            req.kv.kv_committed_len += count + 1
        req.done = req.done or req.rid in ends
    rounds.finish(planned, batch, result, before)


def test_depth_of_the_result_is_what_is_learned(rounds):
    """The depth that was verified counts, whatever was planned."""
    batch = batch_of(Req("a"))
    planned = rounds.plan(batch)
    finish(rounds, planned, batch, [5], depth=5)
    event = rounds.log.events[-1]
    assert (event.depth, event.rows[0].accepted, event.rows[0].cap) == (5, 5, 5)
    assert rounds.runtime.controller.snapshot().failures == 0


class DeviceStages(HostStages):
    """Draft-extend ends only after the next round was launched."""

    made = 0

    def __init__(self):
        super().__init__()
        DeviceStages.made += 1
        self.number = DeviceStages.made

    @property
    def complete(self):
        return DeviceStages.made > self.number

    def seconds(self):
        return {"draft": 0.004, "verify": 0.012} | ({"extend": 0.003} if self.complete else {})


def test_stages_that_outlive_the_result_are_told_a_round_later():
    """The round says unknown, the next result brings it; nothing is told twice."""
    runtime, log = AdaptiveRuntime(build_controller("static:3"), START), Log()
    runtime.add_sink(log)
    rounds, batch = Rounds(runtime, DeviceStages, learn_seconds=True), batch_of(Req("a"))
    for _ in range(3):
        finish(rounds, rounds.plan(batch), batch, [1])
    told = [event for event in log.events if not isinstance(event, StartEvent)]
    assert [type(event) for event in told] == [
        RoundEvent,
        LateStagesEvent,
        RoundEvent,
        LateStagesEvent,
        RoundEvent,
    ]
    assert told[0].seconds.extend != told[0].seconds.extend
    assert (told[1].plan_id, told[1].seconds.extend, told[3].plan_id) == (0, 0.003, 1)


def test_late_rows_of_ended_requests_teach_nothing(rounds):
    """Planned again before its end was known: the row is stale, its slot's next owner untouched."""
    a, b = Req("a"), Req("b")
    both = batch_of(a, b)
    first, second = rounds.plan(both), rounds.plan(both)
    finish(rounds, first, both, [1, 2], ends=("a",))
    alone = batch_of(Req("c"), b)
    third = rounds.plan(alone)
    assert third.view.slot.tolist() == [0, 1]
    finish(rounds, second, both, [0, 1])
    late = [event for event in rounds.log.events if isinstance(event, RoundEvent)][-1]
    assert [row.stale for row in late.rows] == [True, False]
    assert late.rows[0].emitted == 0 and not late.rows[0].finished
    assert late.sample != late.sample
    assert rounds.runtime.controller.snapshot().stale_rows == 0
    finish(rounds, third, alone, [0, 0])
    assert rounds.runtime.controller.snapshot().observed == 3


def test_a_retracted_request_comes_back_as_a_new_one(rounds):
    """Its slot is forgotten at once; the result still under way is dropped."""
    req = Req("a")
    batch = batch_of(req)
    planned = rounds.plan(batch)
    req.is_retracted = True
    rounds.ended("a", "retracted")
    finish(rounds, planned, batch, [1])
    assert rounds.runtime.controller.snapshot().observed == 0
    forgotten = [event for event in rounds.log.events if isinstance(event, ForgetEvent)]
    assert [(event.why, event.rids) for event in forgotten] == [("retracted", ("a",))]


def test_a_stop_cuts_what_was_emitted(rounds):
    """Accepted and emitted differ where a stop lies inside the chain."""
    req = Req("a")
    batch = batch_of(req)
    planned = rounds.plan(batch)
    req.finished_len = 3  # of 1 + 4 tokens
    finish(rounds, planned, batch, [3], ends=("a",))
    row = next(event for event in rounds.log.events if isinstance(event, RoundEvent)).rows[0]
    assert (row.accepted, row.emitted, row.finished) == (3, 2, True)
    assert len(rounds.slots) == 0


def test_a_result_of_other_requests_is_refused(rounds):
    """Rows out of step would credit strangers: it is an error, which the boundary counts."""
    planned = rounds.plan(batch_of(Req("a"), Req("b")))
    other = batch_of(Req("b"), Req("a"))
    with pytest.raises(ValueError, match="not those the round was planned for"):
        finish(rounds, planned, other, [0, 0])


def test_lengths_come_from_the_host_where_it_has_them(rounds):
    """The batch's own lengths on the host are exact; else the requests' committed ones."""
    req = Req("a", prompt=10)
    assert rounds.plan(batch_of(req)).view.context.tolist() == [10]
    exact = SimpleNamespace(reqs=[req], seq_lens_cpu=np.array([14]))
    view = rounds.plan(exact).view
    assert view.context.tolist() == [14] and view.generated.tolist() == [5]


def test_calls_are_numbered_in_their_order(rounds):
    """Plans, observations and forgettings share one count without gaps."""
    req = Req("a")
    batch = batch_of(req)
    for last in (False, False, True):
        finish(rounds, rounds.plan(batch), batch, [1], ends=("a",) if last else ())
    numbers = []
    for event in rounds.log.events[1:]:
        numbers += [event.planned, event.observed] if isinstance(event, RoundEvent) else [event.order]
    assert sorted(numbers) == list(range(7))
