"""Whatever of ours fails on the real server, every request completes with exact tokens; counters tell."""

from adaptive_depth.runtime_hooks.events import FaultEvent, RoundEvent


def test_a_faulty_rule_changes_no_token(soaked):
    """A rule that raises, or plans NaN, no tier, no window; half the requests are aborted meanwhile."""
    run = soaked("faulty", requests=24, abort_share=0.5)
    assert not run.tally.wrong, run.tally.wrong[:2]
    assert run.tally.aborted >= 3
    counts, controller = run.state["counts"], run.state["controller"]
    assert controller["failures"] == 8 and controller["disabled"]
    assert run.state["disabled"] and run.state["active"]
    assert counts["faults"] == 0
    reasons = [event.reason for event in run.events if isinstance(event, RoundEvent)]
    assert reasons.count("fallback") > 20
    assert all(
        event.depth == 3
        for event in run.events
        if isinstance(event, RoundEvent) and event.reason == "fallback"
    )


def test_broken_hooks_change_no_token(soaked):
    """Plan, feedback, windows and the switch of tiers fail half way: SGLang's own way is taken instead."""
    run = soaked("broken", requests=24)
    assert not run.tally.wrong, run.tally.wrong[:2]
    places = run.state["counts"]["faults_by_place"]
    assert {"plan", "feedback", "window", "switch"} & places.keys(), places
    assert run.state["disabled"]
    faults = [event for event in run.events if isinstance(event, FaultEvent)]
    assert len(faults) >= 8 and faults[-1].disabled


def test_a_fault_is_logged_once_and_staying_static_too(soaked):
    """The first fault of a kind is in the server's log with its traceback, the end of adapting as well."""
    log = soaked("broken", requests=24).log
    for place, count in soaked("broken").state["counts"]["faults_by_place"].items():
        assert log.count(f"adaptive-depth: {place} failed, serving the static depth") == 1, (place, count)
    assert log.count("8 faults, staying at the static depth") == 1


def test_a_listener_that_fails_is_dropped(soaked):
    """A sink that raises loses its place; the others go on."""
    run = soaked("broken", requests=24)
    assert run.state["counts"]["sinks_dropped"] == 1
    assert "listener BadSink failed and is dropped" in run.log
    assert len(run.events) > 10
