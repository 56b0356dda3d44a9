"""Log, counters, control and view on a real server: they tell the truth and can harm no request."""

import json
import shlex
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.runtime_hooks.cli import main
from adaptive_depth.traces.decisions import SECONDS, STALE
from adaptive_depth.traces.importers import recognise
from adaptive_depth.traces.importers.decision_records import read_round

OURS = (
    "--speculative-algorithm NEXTN --speculative-eagle-topk 1 --speculative-num-steps 3"
    " --speculative-num-draft-tokens 4"
    " --adaptive-depth --adaptive-depth-config {policy} --adaptive-depth-log {log}"
)
POLICY = {"policy": "bandit", "candidates": {"depths": [0, 1, 3, 5], "windows": [0, 16], "sink": 4}}
TOKENS = 120
WATCH = [
    sys.executable,
    "-c",
    "from adaptive_depth.runtime_hooks.cli import main; raise SystemExit(main())",
    "watch",
]


def start(models, folder, env=None):
    """A server with a log and a policy file, neither of which it needs any more once it runs."""
    from engine_env.server import Server

    policy = folder / "policy.json"
    policy.write_text(json.dumps(POLICY))
    arguments = shlex.split(OURS.format(policy=policy, log=folder / "log"))
    return Server(models["tiny-mimo"], *arguments, log=folder / "server.log", env=env), policy


def state_of(server):
    return json.loads(server.get("/server_info"))["internal_states"][0]["adaptive_depth"]


def until(server, condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition(state := state_of(server)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return state


def steer(server, **keys):
    return server.post("/set_internal_state", {"server_args": keys})


@pytest.fixture(scope="module")
def served(models, tmp_path_factory):
    """One server's life: configuration deleted, views killed, a depth forced, adapting off and on."""
    from engine_env.recording import prompts

    folder, seen = tmp_path_factory.mktemp("telemetry"), SimpleNamespace()
    server, policy = start(models, folder)
    with server:
        policy.unlink()
        views = [
            subprocess.Popen([*WATCH, where, "--interval", "0.05"], stdout=subprocess.DEVNULL)
            for where in (str(folder / "log"), server.url)
        ]
        timers = [threading.Timer(1.0 + n, view.kill) for n, view in enumerate(views)]
        for timer in timers:
            timer.start()
        seen.answers = server.generate(prompts(), TOKENS)
        for timer, view in zip(timers, views, strict=True):
            timer.join()
            view.wait()
        seen.state = state_of(server)
        seen.from_server = page(server.url)
        seen.from_log = page(str(folder / "log"))
        time.sleep(1.0)
        seen.metrics = server.get("/metrics")
        seen.refused = [steer(server, adaptive_depth_force=4), steer(server, adaptive_depth_force=2.5)]
        seen.accepted = [steer(server, adaptive_depth_force=1)]
        seen.forced = server.generate(prompts(2, seed=3), 20)
        seen.accepted += [steer(server, adaptive_depth_force=-1), steer(server, adaptive_depth_enable=0)]
        seen.off = server.generate(prompts(2, seed=3), 20)
        seen.off_state = state_of(server)
        seen.accepted += [steer(server, adaptive_depth_enable=1)]
        until(server, lambda state: state["log"]["waiting"] == 0)
        time.sleep(1.5)  # an idle second, and the log is closed with a trailer
    (seen.log,) = sorted((folder / "log").iterdir())
    return seen


def page(where):
    """What ``watch --once`` prints."""
    return subprocess.run([*WATCH, where, "--once"], capture_output=True, text=True, check=True).stdout


def test_answers_are_exact_whoever_watches_and_whatever_is_deleted(served, recording):
    """The policy file is gone, two views were killed: not a token differs."""
    assert [answer["output_ids"] for answer in served.answers] == recording("plain").outputs


def test_every_answer_has_its_own_true_counts(served):
    """Rounds and accepted drafts agree with SGLang's; proposed ones are those of the depths that ran."""
    for answer in served.answers:
        meta = answer["meta_info"]
        (counts,) = meta["adaptive_depth"]
        assert counts["rounds"] == meta["spec_verify_ct"] == sum(counts["depths"].values())
        assert counts["accepted"] == meta["spec_num_correct_drafts"]
        assert counts["proposed"] == sum(int(depth) * rounds for depth, rounds in counts["depths"].items())
    assert len({depth for a in served.answers for depth in a["meta_info"]["adaptive_depth"][0]["depths"]}) > 1


def test_a_forced_depth_is_the_only_one_and_off_is_the_start_depth(served):
    """Both by /set_internal_state while the server runs; what is no tier is refused."""
    assert served.accepted == [[True]] * 4 and served.refused == [[False]] * 2
    assert {tuple(a["meta_info"]["adaptive_depth"][0]["depths"]) for a in served.forced} == {("1",)}
    assert {tuple(a["meta_info"]["adaptive_depth"][0]["depths"]) for a in served.off} == {("3",)}
    assert served.off_state["disabled"] and not served.state["disabled"]


def test_the_state_says_what_runs(served):
    """Configuration, versions, counters and no fault."""
    state = served.state
    assert state["active"] and state["counts"]["faults"] == 0 and state["controller"]["failures"] == 0
    assert state["config"]["tiers"] == [0, 1, 3, 5] and state["config"]["versions"]["sglang"] == "0.5.23"
    assert state["log"]["dropped"] == 0 and state["log"]["writer_alive"]


def test_counters_agree_with_the_answers(served):
    """Prometheus has what the requests were told, in SGLang's naming and with its labels."""
    counted = {}
    for line in served.metrics.splitlines():
        if line.startswith("sglang:adaptive_depth_"):
            name, value = line.split("{")[0], float(line.rsplit(" ", 1)[1])
            counted[name] = counted.get(name, 0) + value
            assert 'model_name="' in line and 'tp_rank="0"' in line
    told = [answer["meta_info"]["adaptive_depth"][0] for answer in served.answers]
    assert counted["sglang:adaptive_depth_proposed_tokens_total"] == sum(t["proposed"] for t in told)
    assert counted["sglang:adaptive_depth_accepted_tokens_total"] == sum(t["accepted"] for t in told)
    assert counted["sglang:adaptive_depth_rounds_total"] == served.state["counts"]["rounds"]
    # The first token of every answer comes from prefill.
    assert counted["sglang:adaptive_depth_emitted_tokens_total"] == len(told) * (TOKENS - 1)
    assert counted["sglang:adaptive_depth_plan_seconds_total"] > 0


def test_both_views_show_the_same_run(served):
    """Over HTTP and from the log: policy, rounds, and the depths that ran."""
    rounds = f"{served.state['counts']['rounds']:,} rounds"
    for shown in (served.from_server, served.from_log):
        assert "tiny-mimo" in shown and "bandit" in shown and rounds in shown and "0 failures" in shown
    assert "6 finished" in served.from_log


def test_the_log_imports_without_a_problem(served, tmp_path):
    """Every request with all its tokens, the true depths, both windows, and a trailer at the end."""
    imported = recognise(served.log).read(served.log)
    assert imported.problems == []
    ((header, block),) = imported.traces
    assert (
        header.engine == "sglang 0.5.23" and header.windows == (0, 16) and header.hardware.startswith("cpu")
    )
    assert block.output_tokens.tolist() == [TOKENS] * 6 + [20] * 4
    assert (block.position + block.emitted)[block.start[1:] - 1].tolist() == block.output_tokens.tolist()
    assert sorted(block.context[:6].tolist()) == [9 + 37 * i for i in range(6)]
    assert set(block.depth.tolist()) >= {1, 3} and set(block.window.tolist()) == {0, 16}
    assert (block.seconds > 0).sum() > len(block.seconds) / 2


def test_the_log_fed_to_a_fresh_controller_gives_the_same_plans(served):
    """Parity: what is written is all that the controller knew, in its order."""
    from engine_env.events import replay

    plans = replay(list(events_of(served.log)))
    assert len(plans) >= 80
    for event, plan in plans:
        assert (int(plan.depth[0]), plan.window.tolist()) == (event.depth, [row.window for row in event.rows])


def events_of(path):
    """The log's records as the events they were."""
    from adaptive_depth.runtime_hooks.events import (
        ControlEvent,
        ForgetEvent,
        Mark,
        RoundEvent,
        RowEvent,
        StageSeconds,
        StartEvent,
    )

    for line in path.read_text().splitlines():
        record = json.loads(line)
        if "log" in record:
            policy = PolicyFile.model_validate_json(json.dumps(record["config"]["policy"])).model_dump()
            yield StartEvent(**record["config"] | {"policy": policy})
        elif "round" in record:
            r = read_round(record)
            rows = tuple(RowEvent(*row[:8], row.state == 1, row.state == STALE) for row in r.rows)
            stages = StageSeconds(**dict(zip(SECONDS, r.seconds, strict=True)))
            yield RoundEvent(
                *(r.plan_id, r.time, r.depth, r.reason, r.before, rows, stages, Mark(r.marks)),
                **{"planned": r.planned, "observed": r.observed, "sample": r.sample},
            )
        elif "forget" in record:
            yield ForgetEvent(0.0, tuple(record["forget"]), (), record["why"], record["order"])
        elif "control" in record:
            yield ControlEvent(0.0, record["control"], record["value"], record["order"])


def test_a_full_disk_and_a_dead_log_thread_harm_no_request(models, tmp_path, recording):
    """Every token is right; the drops are counted, the dead thread is seen, one warning is given."""
    from engine_env.recording import prompts

    server, _ = start(models, tmp_path, {"CPU_ENGINE_LOG_FAULT": "1"})
    with server:
        first = server.generate(prompts(), TOKENS)
        full = until(server, lambda state: state["log"]["dropped"] >= 40)
        again = server.generate(prompts(), TOKENS)
        dead = until(server, lambda state: not state["log"]["writer_alive"])
        metrics_s = server.get("/metrics")
    outputs = recording("plain").outputs
    assert [a["output_ids"] for a in first] == outputs and [a["output_ids"] for a in again] == outputs
    assert full["log"]["dropped"] >= 40 and "No space left" in full["log"]["last_error"]
    assert not dead["log"]["writer_alive"] and dead["active"] and dead["counts"]["faults"] == 0
    assert "sglang:adaptive_depth_log_dropped_records_total" in metrics_s
    assert (tmp_path / "server.log").read_text().count("records are dropped") == 1


def test_doctor_finds_this_engine_in_order(capsys, models):
    """The installed SGLang matches the table; what SGLang itself holds against a launch is told."""
    words = ["--model-path", str(models["tiny-mimo"]), "--device", "cpu", "--disable-cuda-graph"]
    chain = ["--speculative-algorithm", "NEXTN", "--speculative-num-steps", "3"]
    assert main(["doctor", "--offline", "--", *words, *chain]) == 0
    assert "nothing refused" in (report := capsys.readouterr().out) and "sglang           0.5.23" in report
    assert main(["doctor", "--format", "json", "--", *words, *chain, "--enable-two-batch-overlap"]) == 1
    (reason,) = json.loads(capsys.readouterr().out)["launch"]["refused"]
    assert "drop --enable-two-batch-overlap" in reason
