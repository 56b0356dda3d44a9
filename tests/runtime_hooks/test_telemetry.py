"""Counters, server state and counts a request: what others see of the plugin, on fakes of SGLang's parts."""

from collections import namedtuple
from types import SimpleNamespace
from typing import ClassVar

import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.runtime_hooks.log_record import record
from adaptive_depth.runtime_hooks.metrics import COUNTERS, PREFIX, Metrics
from adaptive_depth.runtime_hooks.recent import Recent
from adaptive_depth.runtime_hooks.request_info import KEY, RequestInfo
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.server_state import ServerState
from adaptive_depth.runtime_hooks.worker import ATTACHED


class Rejected(Exception):
    """Stands for SGLang's UpdateRejected."""


Handler = namedtuple("Handler", "validate apply")


class FakeCounter:
    """Remembers what was added, by labels."""

    made: ClassVar[dict] = {}

    def __init__(self, name, text, labels):
        self.name, self.names, self.values = name, labels, {}
        FakeCounter.made[name] = self

    def labels(self, **labels):
        assert tuple(labels) == self.names
        return SimpleNamespace(inc=lambda amount: self._add(tuple(labels.values()), amount))

    def _add(self, labels, amount):
        assert amount > 0
        self.values[labels] = self.values.get(labels, 0) + amount


@pytest.fixture
def runtime(start_event):
    """A runtime with a controller over the tiers of its start event."""
    return AdaptiveRuntime(build_controller("static:3"), start_event)


@pytest.fixture
def published(runtime):
    """``published()``: publish, then every counter as {name: {labels: value}}."""
    FakeCounter.made = {}
    metrics = Metrics(runtime, {"model_name": "m", "tp_rank": 0}, FakeCounter, lambda: 4)

    def values():
        metrics.publish()
        return {name.removeprefix(PREFIX): counter.values for name, counter in FakeCounter.made.items()}

    return values


def test_counters_carry_the_servers_labels_and_rise_by_what_happened(runtime, published, round_event):
    """Two rounds at two depths, one switch, one fault."""
    runtime.emit(round_event(0, [("a", 2), ("b", 0)], before=-1))
    runtime.emit(round_event(1, [("a", 1), ("b", 1, "stale")], depth=1, before=3, reason="shallower"))
    runtime.fault("feedback", ValueError("x"))
    found = published()
    assert set(found) == {name for name, _, _ in COUNTERS} and all(
        n.startswith("sglang:") for n in FakeCounter.made
    )
    assert found["rounds"] == {("m", 0, "3"): 1, ("m", 0, "1"): 1}
    assert found["proposed_tokens"] == {("m", 0): 7} and found["accepted_tokens"] == {("m", 0): 3}
    assert found["emitted_tokens"] == {("m", 0): 6} and found["plan_seconds"][("m", 0)] == pytest.approx(2e-4)
    assert found["switches"] == {("m", 0, "shallower"): 1} and found["failures"] == {("m", 0, "feedback"): 1}
    assert found["log_dropped_records"] == {("m", 0): 4}


def test_publishing_again_adds_only_what_is_new(runtime, published, round_event):
    """Counters are totals, however often they are published."""
    runtime.emit(round_event(0, [("a", 2)]))
    published()
    assert published()["emitted_tokens"] == {("m", 0): 3}
    runtime.emit(round_event(1, [("a", 0)]))
    assert published()["emitted_tokens"] == {("m", 0): 4}


def test_a_count_that_is_reset_never_lowers_a_counter(runtime, published):
    """An operator clears the controller's failures; what was counted stays, new ones add."""
    runtime.controller._failures = 2
    assert published()["failures"] == {("m", 0, "controller"): 2}
    runtime.controller._failures = 0
    assert published()["failures"] == {("m", 0, "controller"): 2}
    runtime.controller._failures = 1
    assert published()["failures"] == {("m", 0, "controller"): 3}


@pytest.fixture
def state(runtime):
    """The hooks on the server's state, with something of the log's beside it."""
    return ServerState(runtime, lambda: {"log": None, "recent": {}}, Handler, Rejected)


def test_the_state_is_plain_and_complete(runtime, state, round_event):
    """Counters by their own keys, the configuration, the controller, and what else there is."""
    runtime.emit(round_event(0, [("a", 2)], window=512))
    found = {"other": 1}
    state.show(None, None, found)
    mine = found["adaptive_depth"]
    assert mine["counts"]["depths"] == {"3": 1} and mine["counts"]["windows"] == {"512": 1}
    assert mine["config"]["tiers"] == [0, 1, 3, 5] and mine["last_depth"] == 3 and "recent" in mine
    assert found["other"] == 1


def test_a_fault_in_the_state_costs_only_itself(runtime, round_event):
    """A status request must not take the scheduler down."""
    state = ServerState(runtime, lambda: 1 / 0, Handler, Rejected)
    found = {}
    state.show(None, None, found)
    assert found == {} and runtime.counts.faults_by_place["status"] == 1


def test_the_two_keys_force_and_switch(runtime, state):
    """A depth is pinned and released, adapting goes off and on; SGLang's own keys stay."""
    handlers = state.keys({"own": 1}, None)
    assert set(handlers) == {"own", "adaptive_depth_force", "adaptive_depth_enable"}

    def send(key, value):
        handlers[key].validate(key, value)
        assert handlers[key].apply(key, value) is None

    send("adaptive_depth_force", 1)
    assert runtime.controller.snapshot().forced_depth == 1
    send("adaptive_depth_force", -1)
    assert runtime.controller.snapshot().forced_depth is None
    send("adaptive_depth_enable", 0)
    assert runtime.disabled
    send("adaptive_depth_enable", 1)
    assert not runtime.disabled


@pytest.mark.parametrize(
    ("key", "value"), [("force", 4), ("force", 2.5), ("force", -2), ("enable", 2), ("enable", -1)]
)
def test_values_that_mean_nothing_are_rejected(state, runtime, key, value):
    """Named with what is allowed, and nothing changes."""
    key = f"adaptive_depth_{key}"
    with pytest.raises(Rejected, match="expected"):
        state.keys({}, None)[key].validate(key, value)
    assert runtime.controller.snapshot().forced_depth is None and not runtime.disabled


class FakeReq:
    """A request as far as the counts look at it."""

    def __init__(self, done=False):
        self.done, self.is_retracted, self.customized_info = done, False, None

    def finished(self):
        return self.done


def result(depth, accepted, planned=True):
    made = SimpleNamespace(speculative_num_draft_tokens=depth + 1, num_correct_drafts_per_req_cpu=accepted)
    if planned:
        setattr(made, ATTACHED, object())
    return made


def test_an_answer_carries_its_own_true_counts(runtime):
    """Proposed drafts are those of the depths it really ran at; a row behind its end does not count."""
    info, own, other = RequestInfo(runtime), FakeReq(), FakeReq()
    batch = SimpleNamespace(reqs=[own, other])
    assert info.count(lambda *_: "tokens", None, result(3, [2, 0]), batch) == "tokens"
    other.done = True
    info.count(lambda *_: None, None, result(1, [1, 1]), batch)
    assert own.customized_info == {
        KEY: [{"rounds": 2, "proposed": 4, "accepted": 3, "depths": {"3": 1, "1": 1}}]
    }
    assert other.customized_info[KEY][0]["rounds"] == 1


def test_a_round_that_finishes_a_request_is_counted(runtime):
    """The step that ends it comes after the look at who is alive."""
    req = FakeReq()

    def resolve(*_):
        req.done = True

    RequestInfo(runtime).count(resolve, None, result(3, [1]), SimpleNamespace(reqs=[req]))
    assert req.customized_info[KEY][0]["rounds"] == 1


def test_rounds_of_others_are_left_alone(runtime):
    """Without our plan on the result nothing is added."""
    req = FakeReq()
    RequestInfo(runtime).count(
        lambda *_: None, None, result(3, [1], planned=False), SimpleNamespace(reqs=[req])
    )
    assert req.customized_info is None


def test_a_fault_in_counting_never_reaches_the_server(runtime):
    """Counts that do not fit are a fault of ours, and the tokens go through."""
    info = RequestInfo(runtime)
    batch = SimpleNamespace(reqs=[FakeReq()])
    assert info.count(lambda *_: "tokens", None, result(3, [1, 2]), batch) == "tokens"
    assert runtime.counts.faults_by_place["meta_info"] == 1


def test_only_our_key_is_a_value_a_request(runtime):
    """Other keys are what SGLang says they are."""
    info = RequestInfo(runtime)
    assert info.is_own(lambda *_: False, None, KEY)
    assert info.is_own(lambda streamer, key: key == "x", None, "x")
    assert not info.is_own(lambda *_: False, None, "y")


def test_recent_events_are_bounded_by_number_and_rows(start_event, round_event):
    """A wide batch keeps fewer rounds; their numbers go on."""
    recent = Recent(rows=10, events=6)
    recent.put(start_event)
    for number in range(20):
        recent.put(round_event(number, [(f"r{i}", 1) for i in range(4)]))
    state = recent.state()
    assert (state["first"], len(state["records"])) == (18, 2) and state["header"]["config"]["tiers"]
    assert state["records"][-1] == record(round_event(19, [(f"r{i}", 1) for i in range(4)]))
    for number in range(20, 40):
        recent.put(round_event(number, [("a", 1)]))
    assert (recent.state()["first"], len(recent.state()["records"])) == (34, 6)
