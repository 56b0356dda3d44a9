"""The plugin on the real server: any depth and any window in any round, and not one token differs."""

import itertools

import pytest

from adaptive_depth.runtime_hooks.events import ForgetEvent, Mark, RoundEvent, StartEvent

SOAKED = ("nextn", "eagle", "overlap")


@pytest.fixture(scope="module", autouse=True)
def rules():
    """The test rules, for replaying what they planned."""
    from engine_env.rules import register_all

    from adaptive_depth.policies.registry import entries

    if "test-random" not in {entry.name for entry in entries()}:
        register_all()


def rounds(run):
    """The rounds of a run."""
    return [event for event in run.events if isinstance(event, RoundEvent)]


@pytest.mark.parametrize("name", SOAKED)
def test_every_token_equals_that_of_a_plain_server(soaked, name):
    """Random depths and windows, batches of 1 to 8, stops in mid-chain, aborts: the text is the same."""
    tally = soaked(name).tally
    assert not tally.wrong, tally.wrong[:2]
    assert tally.tokens > 1200, tally
    assert tally.stopped and tally.aborted, tally


@pytest.mark.parametrize("name", SOAKED)
def test_plans_really_ran(soaked, name):
    """Every tier, 0 among them, and every window was played, in batches of several sizes, without a fault."""
    run = soaked(name)
    played = rounds(run)
    assert {event.depth for event in played} == {0, 1, 2, 3, 5, 7}
    assert {row.window for event in played for row in event.rows} == {0, 8, 40}
    assert any(len({row.window for row in event.rows}) > 1 for event in played)
    assert {1, 2, 5} <= {event.batch for event in played}
    assert run.state["active"] and not run.state["disabled"]
    assert run.state["counts"]["faults"] == run.state["controller"]["failures"] == 0


@pytest.mark.parametrize("name", SOAKED)
def test_every_switch_costs_no_log_line(soaked, name):
    """SGLang's own line of a switch is not written; at a switch a round it would drown the log."""
    run = soaked(name)
    assert run.state["counts"]["switches"] > 50
    assert "Switch adaptive runtime state" not in run.log


@pytest.mark.parametrize("name", SOAKED)
def test_a_fresh_controller_plans_the_same(soaked, name):
    """The events hold all that a decision hangs on: a fresh controller plans the same."""
    from engine_env.events import replay

    plans = replay(soaked(name).events)
    assert len(plans) == len(rounds(soaked(name))) > 200
    for event, plan in plans:
        assert (event.plan_id, event.depth) == (plan.plan_id, int(plan.depth[0]))
        assert [row.window for row in event.rows] == plan.window.tolist()


@pytest.mark.parametrize("name", SOAKED)
def test_no_slot_is_kept_and_none_is_shared(soaked, name):
    """Every request gives its slot up in the end, and until then nobody else has it."""
    holder, used = {}, 0
    for event in soaked(name).events:
        if isinstance(event, RoundEvent):
            for row in event.rows:
                if not row.stale:
                    assert holder.setdefault(row.slot, row.rid) == row.rid
            used = max(used, *(row.slot for row in event.rows))
        elif isinstance(event, ForgetEvent):
            for slot, rid in zip(event.slots, event.rids, strict=True):
                assert holder.pop(slot, rid) == rid
    assert not holder
    assert used < 20


@pytest.mark.parametrize("name", ("nextn", "overlap"))
def test_retracted_requests_start_anew(soaked, name):
    """SGLang takes a request back now and then; what was learned of it goes with its slot."""
    why = [event.why for event in soaked(name).events if isinstance(event, ForgetEvent)]
    assert why.count("retracted") >= 3
    assert why.count("finished") >= 20


def test_late_results_of_ended_requests_teach_nothing(soaked):
    """With overlap a request's last row comes once more; without it, never."""
    stale = {n: sum(row.stale for e in rounds(soaked(n)) for row in e.rows) for n in ("nextn", "overlap")}
    assert stale["nextn"] == 0
    assert stale["overlap"] > 5
    late = [row for event in rounds(soaked("overlap")) for row in event.rows if row.stale]
    assert all(row.emitted == 0 and not row.finished for row in late)


@pytest.mark.parametrize("name", SOAKED)
def test_results_come_as_late_as_the_scheduler_makes_them(soaked, name):
    """Without overlap a round is planned after the previous result; with it, before."""
    steps = [(event.planned, event.observed) for event in rounds(soaked(name))]
    early = sum(after[0] < before[1] for before, after in itertools.pairwise(steps))
    assert (early > len(steps) / 3) if name == "overlap" else early == 0


@pytest.mark.parametrize("name", SOAKED)
def test_emitted_tokens_add_up(soaked, name):
    """Verified and emitted counts are kept apart: tokens kept never exceed accepted + 1."""
    rows = [row for event in rounds(soaked(name)) for row in event.rows if not row.stale]
    assert all(0 <= row.accepted <= row.cap for row in rows)
    assert all(row.emitted <= row.accepted + 1 for row in rows)
    assert any(row.emitted < row.accepted + 1 for row in rows if row.finished)
    assert all(row.emitted == row.accepted + 1 for row in rows if not row.finished)


def test_context_grows_by_what_was_emitted(soaked):
    """The context a plan sees is exact on the CPU: it grows by the tokens of every round."""
    expected, checked = {}, 0
    for event in soaked("nextn").events:
        for rid in getattr(event, "rids", ()):
            expected.pop(rid, None)  # ended, or will come back with a prefill between
        for row in getattr(event, "rows", ()):
            checked += row.rid in expected
            assert row.context == expected.get(row.rid, row.context)
            assert row.generated > 0
            expected[row.rid] = row.context + row.emitted
    assert checked > 500


@pytest.mark.parametrize("name", SOAKED)
def test_rounds_are_timed(soaked, name):
    """Stages lie within the round; a round after a prefill or the first of its shape is no sample."""
    played = rounds(soaked(name))
    for event in played:
        assert 0 < event.seconds.verify < 60 and 0 < event.seconds.extend < 60
        assert event.seconds.round > 0 and 0 < event.seconds.plan < 1
        assert (event.seconds.draft > 0) == (event.depth > 0)
        assert not event.marks or event.sample != event.sample
    assert sum(event.sample == event.sample for event in played) > len(played) / 3
    assert Mark.PREFILL in {mark for event in played for mark in Mark if mark & event.marks}


def test_start_says_what_runs(soaked):
    """The first event holds the whole policy, the tiers, the windows and the versions."""
    start = soaked("nextn").events[0]
    assert isinstance(start, StartEvent)
    assert (start.tiers, start.windows, start.sink) == ((0, 1, 2, 3, 5, 7), (0, 8, 40), 4)
    assert start.policy["policy"] == "test-random" and start.policy["cost"]["v0"] > 0
    assert start.versions["sglang"] == "0.5.23"
    assert start.extend_window and start.online_cost
