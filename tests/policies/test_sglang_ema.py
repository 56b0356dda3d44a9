"""The stock rule: exact steps on exact feedback, and its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from adaptive_depth.policies.registry import make_config
from adaptive_depth.policies.sglang_ema import SglangEma
from adaptive_depth.policies.sglang_ema_config import SglangEmaConfig, parse_adaptive, read_adaptive_json
from adaptive_depth.policies.types import BatchView, Candidates, Estimates, RoundResult
from adaptive_depth.traces.errors import ConfigError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/policies/sglang_ema.json").read_text())
#: Only the installed version refuses it; older versions' flat form is welcome here.
FLAT = {"candidate_steps": [1, 3, 5]}
CASES = {case["name"]: case for case in VECTORS["cases"]}


def view(groups: list[int], sizes: list[int]) -> BatchView:
    group = np.repeat(np.array(groups, np.int32), sizes)
    rows = np.arange(len(group), dtype=np.int32)
    return BatchView(rows, group, rows.astype(np.int64), rows.astype(np.int64))


def outcome(batch: BatchView, accepted: list[int]) -> RoundResult:
    rows = np.full(len(batch.slot), 100, np.int8)
    return RoundResult(
        0,
        batch.slot,
        batch.group,
        batch.context,
        rows,
        rows.astype(np.int32) * 0,
        np.array(accepted, np.int8),
        np.full(len(batch.groups), np.nan),
    )


def build(case: dict) -> SglangEma:
    config = SglangEmaConfig(adaptive=case["config"], cuda_graph_bs=tuple(case["cuda_graph_bs"] or ()))
    start = case["initial_steps"]
    return SglangEma(config, Candidates(tuple(sorted({*config.depths, start})), start_depth=start))


def loaded(value: object) -> list:
    return json.loads(value) if isinstance(value, str) else value


@pytest.mark.parametrize("name", CASES)
def test_takes_the_stock_steps(name):
    """On the recorded feedback every step, and the mean at the end to the last bit, is the stock class's."""
    case, nothing = CASES[name], Estimates(None, None)
    rule, steps = build(case), []
    for size, accepted in loaded(case["feedback"]):
        steps.append(int(rule.plan(view([0], [size]), nothing).depth[0]))
        if accepted:
            rule.observe(outcome(view([0], [len(accepted)]), accepted))
    assert steps == loaded(case["steps_before_each_batch"])
    means = [float(ladder["ema"][0]) for ladder in rule.state_dict()["ladders"]]
    assert means == list(loaded(case["final_ema"]).values())


def test_groups_side_by_side_take_the_steps_they_take_alone():
    """Three recorded cases of one configuration, one group each, in one batch."""
    cases, present = [CASES[name] for name in ("default-b1", "default-mixed", "default-wide")], [0, 1, 2]
    rule, nothing = build(cases[0]), Estimates(None, None)
    feedback = [loaded(case["feedback"]) for case in cases]
    steps = [loaded(case["steps_before_each_batch"]) for case in cases]
    for turn in range(min(map(len, feedback))):
        sizes = [feedback[g][turn][0] for g in present]
        plan = rule.plan(view(present, sizes), nothing)
        assert plan.depth.tolist() == [steps[g][turn] for g in present]
        full = [g for g in present if feedback[g][turn][1]]
        accepted = [a for g in full for a in feedback[g][turn][1]]
        rule.observe(outcome(view(full, [len(feedback[g][turn][1]) for g in full]), accepted))


@pytest.mark.parametrize("config", [c for c in VECTORS["refused"] if c != FLAT], ids=str)
def test_refuses_what_stock_refuses(config):
    """A configuration the stock class will not take is a ConfigError, not a guess."""
    with pytest.raises(ConfigError):
        parse_adaptive(config)


@pytest.mark.parametrize(
    "slot",
    [
        {"update_interval": 0},
        {"update_interval": 2.5},
        {"warmup_batches": -1},
        {"ema_alpha": 1.5},
        {"ema_alpha": "0.2"},
        {"ema_alpha": True},
        {"up_hysteresis": float("nan")},
        {"candidate_steps": [1, True]},
    ],
    ids=str,
)
def test_refuses_values_stock_would_stumble_over(slot):
    """Values that stock takes and then divides by zero or compares nonsense with are refused at the start."""
    with pytest.raises(ConfigError, match=next(iter(slot))):
        parse_adaptive({"1": {"candidate_steps": [1, 3], **slot}})


def test_flat_form_is_one_ladder_for_every_batch_size():
    """Older versions' form, comments included."""
    slots = parse_adaptive({**FLAT, "_comment": ["tuned by hand"], "ema_alpha": 0.1})
    assert list(slots) == [1]
    assert slots[1].candidate_steps == (1, 3, 5)
    assert slots[1].ema_alpha == 0.1


def test_slot_beats_shared_beats_default():
    """A slot's own value, the file's shared one, the built-in one, in this order."""
    raw = {
        "ema_alpha": 0.5,
        "_why": 1,
        "1": {"candidate_steps": [1], "ema_alpha": 0.9},
        "4": {"candidate_steps": [2]},
    }
    slots = parse_adaptive(raw)
    assert (slots[1].ema_alpha, slots[4].ema_alpha, slots[4].update_interval) == (0.9, 0.5, 5)


def test_reads_a_file_and_names_it_when_it_cannot(tmp_path):
    """The file's own content comes back; a bad one is one line with its path."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(FLAT))
    bad.write_text('{"1": {"candidate_steps": []}}')
    assert read_adaptive_json(good) == FLAT
    for path in (bad, tmp_path / "absent.json", tmp_path):
        with pytest.raises(ConfigError, match=str(path)):
            read_adaptive_json(path)


def test_ladder_must_be_among_the_candidates():
    """The depths that are missing are named."""
    config = SglangEmaConfig(adaptive={"1": {"candidate_steps": [1, 4, 9]}})
    assert config.depths == (1, 4, 9)
    with pytest.raises(ConfigError, match=r"\[4, 9\]"):
        SglangEma(config, Candidates())


def test_parameters_are_sglangs_json_unchanged():
    """A policy file holds the JSON under ``adaptive``."""
    config = make_config("sglang-ema", {"adaptive": {"_comment": "x", "1": {"candidate_steps": [3, 1]}}})
    assert config.depths == (1, 3)
    with pytest.raises(ConfigError, match="candidate_steps"):
        make_config("sglang-ema", {"adaptive": {"1": {}}})
