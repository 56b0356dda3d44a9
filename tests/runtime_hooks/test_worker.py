"""The worker's hooks around stand-ins: what is launched, and what happens when something fails."""

from types import SimpleNamespace

import numpy as np
import pytest

from adaptive_depth.controller.build import build_controller
from adaptive_depth.policies.types import Candidates
from adaptive_depth.runtime_hooks.rounds import Rounds
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.tier_switch import TierPolicy, TierSwitch, chain_buffers
from adaptive_depth.runtime_hooks.timing import HostStages
from adaptive_depth.runtime_hooks.windows import FULL, DraftWindows
from adaptive_depth.runtime_hooks.worker import ATTACHED, HANDSHAKE_ROUNDS, WorkerHooks

CHOICES = Candidates((0, 1, 3, 5), (0, 64), 4, 3, 0)


class Mode(SimpleNamespace):
    """SGLang's forward mode."""

    def is_extend(self):
        """A prefill."""
        return self.name == "extend"

    def is_idle(self):
        """A batch of nothing."""
        return self.name == "idle"


def batch_of(number=2, mode="decode"):
    """A batch of running requests."""
    reqs = [
        SimpleNamespace(rid=str(i), origin_input_ids=[1] * 5, kv=SimpleNamespace(kv_committed_len=9 + i))
        for i in range(number)
    ]
    return SimpleNamespace(
        reqs=reqs, forward_mode=Mode(name=mode), is_extend_in_batch=False, seq_lens_cpu=None
    )


@pytest.fixture
def hooks(start_event):
    """Hooks over ``static:5@64``."""
    runtime = AdaptiveRuntime(build_controller("static:5@64", candidates=CHOICES), start_event)
    rounds = Rounds(runtime, HostStages, learn_seconds=True)
    tiers = TierPolicy(CHOICES.depths, CHOICES.start_depth)
    return WorkerHooks(runtime, rounds, tiers, DraftWindows(4, True, "cpu"))


def launch(hooks, batch):
    """What the worker would run at: depth, windows planned or not, and the result."""
    seen = {}

    def original(worker, launched):
        seen["depth"] = hooks.tiers.get_steps_for_batch(2)
        seen["windows"] = None if hooks.windows._host is None else hooks.windows._host.tolist()
        return SimpleNamespace()

    result = hooks.launch(original, None, batch)
    return seen["depth"], seen["windows"], getattr(result, ATTACHED, None)


def test_a_decode_round_runs_as_planned(hooks):
    """Depth and windows are set during the launch and the plan goes with the result."""
    depth, windows, attached = launch(hooks, batch_of())
    assert depth == 5 and windows == [68, 68]
    assert attached.depth == 5 and attached.rids == ["0", "1"]
    assert hooks.windows.caps(2) is None, "outside of a launch there is no window"


@pytest.mark.parametrize("mode", ("extend", "idle"))
def test_other_batches_are_left_alone(hooks, mode):
    """A prefill and an idle batch get no plan."""
    assert launch(hooks, batch_of(mode=mode))[1:] == (None, None)


def test_a_failing_plan_launches_at_the_start_depth(hooks):
    """Whatever fails in planning, the round runs static, without a window, and is counted."""
    launch(hooks, batch_of())
    broken = batch_of()
    del broken.reqs[0].kv
    assert launch(hooks, broken) == (3, None, None)
    assert hooks.runtime.counts.faults_by_place == {"plan": 1}


def test_ranks_that_differ_stay_static_at_once(hooks):
    """The plan is dropped in the very round, and no other is made."""
    hooks.agree = lambda planned: planned is None
    assert launch(hooks, batch_of()) == (3, None, None)
    assert hooks.runtime.tripped
    assert launch(hooks, batch_of()) == (3, None, None)
    assert hooks.runtime.controller.snapshot().plans == 1


def test_rounds_that_never_come_back_are_an_error(hooks, caplog):
    """The handshake: hooks that launch and hear nothing are not live, and say so."""
    for _ in range(HANDSHAKE_ROUNDS):
        launch(hooks, batch_of())
    assert hooks.runtime.counts.faults == 1 and "none came back" in hooks.runtime.last_error
    assert "none came back" in caplog.text


def test_a_first_result_without_a_plan_is_an_error(hooks):
    """Decode rounds that do not pass the hooked launch would be static in silence."""
    assert hooks.result(lambda *args: "answer", None, batch_of(), SimpleNamespace()) == "answer"
    assert "did not pass through" in hooks.runtime.last_error


def test_an_error_of_the_server_itself_passes(hooks):
    """It is not ours to swallow; the windows are cleared all the same."""

    def original(worker, batch):
        raise MemoryError("theirs")

    with pytest.raises(MemoryError):
        hooks.launch(original, None, batch_of())
    assert hooks.windows._host is None and hooks.rounds.launching is None


def test_windows_are_caps_with_the_sink():
    """A window counts beside the sink; 0 is everything; all 0 is no plan at all."""
    windows = DraftWindows(4, True, "cpu")
    windows.choose(np.array([64, 0], np.int32))
    assert windows._host.tolist() == [68, FULL]
    with pytest.raises(ValueError, match="2 requests, 1 are drafted"):
        windows.caps(1)
    windows.choose(np.array([0, 0], np.int32))
    assert windows.caps(2) is None


class DraftWorker:
    """The draft worker's part that tiers touch."""

    def __init__(self):
        self.speculative_num_steps, self.speculative_num_draft_tokens = 3, 4
        self._rebuild_topk1_chain_buffers()

    def _rebuild_topk1_chain_buffers(self):
        self._topk1_parents_prealloc = f"parents {self.speculative_num_steps}"
        self._topk1_score_indices_prealloc = f"scores {self.speculative_num_draft_tokens}"


def test_chain_buffers_of_every_tier_are_kept_and_the_worker_left_as_it_was():
    """Made by SGLang's own builder, once."""
    draft = DraftWorker()
    made = chain_buffers(draft, (0, 3, 5))
    assert {depth: (pair.parents, pair.scores) for depth, pair in made.items()} == {
        depth: (f"parents {depth}", f"scores {depth + 1}") for depth in (0, 3, 5)
    }
    assert (draft.speculative_num_steps, draft._topk1_parents_prealloc) == (3, "parents 3")


def test_a_switch_that_fails_is_made_by_sglang():
    """Also one to a depth whose buffers nobody kept; one to the present depth is none."""
    done = []
    switch = TierSwitch(lambda where, step, otherwise: otherwise)
    worker = SimpleNamespace(speculative_num_steps=3)
    for depth in (3, 5):
        switch(
            lambda w, state: done.append(state.speculative_num_steps),
            worker,
            SimpleNamespace(speculative_num_steps=depth),
        )
    assert done == [5]
