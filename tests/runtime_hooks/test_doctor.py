"""``adaptive-depth doctor``: works without SGLang, names what is refused with its mend, prices the tiers."""

import json

import pytest

from adaptive_depth.runtime_hooks import checkup
from adaptive_depth.runtime_hooks.cli import main
from adaptive_depth.runtime_hooks.targets import TARGETS

NEXTN = ["--speculative-algorithm", "NEXTN"]


@pytest.fixture
def report(capsys):
    """``report(*words)``: exit code and the JSON report."""

    def run(*words):
        code = main(["doctor", "--format", "json", "--offline", *words])
        return code, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def sglang(monkeypatch):
    """``sglang(version, faults)``: pretend that this SGLang is installed."""

    def pretend(version, faults=()):
        monkeypatch.setattr(checkup, "installed_version", lambda: version)
        monkeypatch.setattr(checkup, "check_targets", lambda targets: list(faults))

    return pretend


def test_without_sglang_it_says_so(report, sglang):
    """Nothing is imported of it, and the exit code is 1."""
    sglang(None)
    code, found = report()
    assert code == 1 and found["schema"] == "adaptive-depth-doctor/1" and found["launch"] is None
    (problem,) = found["installation"]["problems"]
    assert "not installed" in problem and max(TARGETS) in problem


def test_a_tested_release_with_all_hooks_is_fine(report, sglang):
    """Exit code 0."""
    sglang("0.5.23")
    code, found = report()
    assert code == 0 and found["installation"]["problems"] == []
    assert found["installation"]["hooks"]["matched"] == found["installation"]["hooks"]["checked"] > 20


def test_a_hook_that_differs_is_named(report, sglang):
    """Each on a line of its own."""
    sglang("0.5.23", ["sglang.srt.x is missing"])
    code, found = report()
    assert code == 1 and found["installation"]["problems"] == ["sglang.srt.x is missing"]


def test_an_untested_release_is_a_problem(report, sglang):
    """With the ones that were tested."""
    sglang("0.9.0")
    code, found = report()
    assert code == 1 and "0.9.0" in found["installation"]["problems"][0]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], None),
        (["--speculative-eagle-topk", "4"], "topk"),
        (["--speculative-adaptive"], "only one rule"),
        (["--speculative-num-steps", "x"], "invalid int"),
        (["--adaptive-depth-config", "nothere.json"], "nothere.json"),
        (["--adaptive-depth-config", "marginl"], "did you mean 'marginal'"),
        (["--speculative-draft-window-size", "512", "--attention-backend", "fa3"], "fa3"),
        (["--tp", "2", "--unknown-flag", "7"], None),
        (["--enable-lora"], "LoRA"),
        (["--speculative-draft-window-size", "9", "--attention-backend=triton", "--dcp-size", "2"], "dcp"),
    ],
)
def test_launch_arguments_are_judged(report, sglang, words, reason):
    """A refusal comes with its reason; what adaptive depth does not look at passes."""
    sglang("0.5.23")
    code, found = report("--", *NEXTN, *words)
    refused = found["launch"]["refused"]
    assert code == (1 if reason else 0)
    assert (reason in refused[0]) if reason else refused == []


def test_no_speculation_is_refused_with_the_mend(report, sglang):
    """The flag to add is in the line."""
    sglang("0.5.23")
    _, found = report("--", "--model-path", "m")
    assert "--speculative-algorithm NEXTN" in found["launch"]["refused"][0]


def test_a_window_that_was_not_asked_for_is_full(report, sglang):
    """Without window flags and policy file the draft attends the whole context, with them what they say."""
    sglang("0.5.23")
    _, found = report("--", *NEXTN)
    assert (found["launch"]["windows"], found["launch"]["sink"]) == ([0], 0)
    asked = ["--speculative-draft-window-size", "4032", "--speculative-draft-sink-size", "64"]
    _, found = report("--", *NEXTN, *asked, "--speculative-draft-attention-backend", "triton")
    assert (found["launch"]["windows"], found["launch"]["sink"]) == ([4032], 64)


def test_buffers_follow_the_formula_and_the_launch(report, sglang, tmp_path):
    """Batch and context come from the flags, vocabulary from the checkpoint; what is assumed is said."""
    sglang("0.5.23")
    (tmp_path / "config.json").write_text(
        '{"text_config": {"vocab_size": 1000, "max_position_embeddings": 500}}'
    )
    policy = tmp_path / "policy.json"
    policy.write_text('{"policy": "marginal", "candidates": {"depths": [0, 1, 7], "start_depth": 1}}')
    words = [
        "--model-path",
        str(tmp_path),
        "--adaptive-depth-config",
        str(policy),
        "--max-running-requests",
        "4",
    ]
    _, found = report("--", *NEXTN, *words)
    buffers = found["launch"]["buffers"]
    assert (buffers["batch"], buffers["context"], buffers["assumed"]) == (4, 500, [])
    assert [tier["rows"] for tier in buffers["tiers"]] == [4, 8, 32]
    index = [(t["verify_bytes"], t["extend_bytes"], t["draft_bytes"]) for t in buffers["tiers"]]
    assert index == [(16_000, 16_000, 0), (32_000, 32_000, 0), (128_000, 128_000, 112_000)]
    assert buffers["shared_logits_bytes"] == 32 * 1000 * 4
    _, found = report("--", *NEXTN)
    assert found["launch"]["buffers"]["assumed"] == ["batch", "context"]


def test_the_table_says_the_same(sglang, capsys):
    """For a person: installation, launch, tiers."""
    sglang("0.5.23")
    assert main(["doctor", "--offline", "--", *NEXTN, "--context-length", "1048576"]) == 0
    page = capsys.readouterr().out
    for part in ("0.5.23", "nothing refused", "policy           marginal", "1,048,576", "GiB", "token rows"):
        assert part in page, part
    assert max(map(len, page.splitlines())) <= 100
