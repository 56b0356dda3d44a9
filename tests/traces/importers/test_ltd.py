"""EAGLE / LTD records: the depth lags one round, and lists differ in length."""

import pytest

NAME = "ltd"


def record(pre, depths, idxs=None, tokens=None, **more):
    choice = {"turns": ["x"], "pre_num": pre, "dyn_depths": depths, "new_tokens": tokens or [sum(pre)]}
    choice |= {"idxs": idxs or [len(pre) - 1]}
    return {"question_id": 7, "model_id": "m-temperature0.0x", "choices": [choice]} | more


def test_depth_governs_the_next_round(source):
    """dyn_depths[i] + 1 is the chain of round i + 1; nothing governs the first round."""
    block = source.block([record([9, 5, 3, 1], [3, 1, 6, 2])], NAME)
    assert block.accepted.tolist() == [8, 4, 2, 0]
    assert block.depth.tolist() == [-1, 4, 2, 7]


def test_aligned_without_the_lag_the_same_record_would_be_refused(source):
    """A round that accepts more than its governing depth allows is part above whole: named, dropped."""
    good, bad = record([1, 5, 3], [3, 1, 6]), record([1, 3, 5], [3, 1, 6])
    imported = source.read([good, bad], NAME)
    assert [block.requests for _, block in imported.traces] == [1]
    assert [(p.line, p.reason) for p in imported.problems] == [(2, "round 2 accepts 4 drafts of 2")]


def test_pre_num_covers_the_last_turn_only(source):
    """With two turns the depths of the last turn are the tail of dyn_depths; tokens are the last turn's."""
    block = source.block([record([1, 3, 2], [9, 9, 1, 5, 2], idxs=[1, 2], tokens=[4, 6])], NAME)
    assert block.depth.tolist() == [-1, 2, 6] and block.output_tokens.tolist() == [6]


@pytest.mark.parametrize(
    ("depths", "idxs"), [([3] * 9, [3]), ([3], [3]), ([3] * 7, [3, 3]), ([3] * 8, [3, 2]), ([], [3])]
)
def test_lists_that_cannot_be_aligned_are_named(source, depths, idxs):
    """Neither the same length, nor all turns: no depth is invented."""
    (reason,) = source.reasons([record([1, 2, 2, 1], depths, idxs)], NAME)
    assert reason.startswith("1: ") and "dyn_depths" in reason


def test_a_missing_last_depth_is_no_loss(source):
    """The depth chosen after the last round governs nothing."""
    assert source.block([record([1, 2, 2], [3, 1])], NAME).depth.tolist() == [-1, 4, 2]


def test_fixed_depth_runs_may_have_no_depth_list(source):
    """Without dyn_depths the depth is unknown."""
    plain = record([1, 2], [3, 3])
    del plain["choices"][0]["dyn_depths"]
    assert source.block([plain], NAME).depth.tolist() == [-1, -1]
