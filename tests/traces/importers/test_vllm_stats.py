"""vLLM and AIPerf statistics: counts without the bonus, drafts that may be fewer than the depth."""

import numpy as np
import pytest

NAME = "vllm-stats"


def stats(accepted, drafted, **more):
    return {
        "metrics": {
            "speculative_decoding": {"per_step_accepted": accepted, "per_step_drafted": drafted} | more
        }
    }


def test_the_same_run_from_vllm_and_sglang_is_the_same_trace(source):
    """43 rounds imported without the bonus (vLLM) and with it (SGLang) give identical rounds."""
    accepted = np.repeat(np.arange(6), [11, 14, 11, 4, 0, 3])
    accepted = np.random.default_rng(0).permutation(accepted)
    usage = {"usage": {"completion_tokens": 106}, "id": "r"}
    vllm = source.block([stats(accepted.tolist(), [5] * 43) | usage], NAME)
    lists = {"accept_lengths": (accepted + 1).tolist(), "verify_lengths": [6] * 43}
    sglang = source.block([{"speculative_decoding_stats": lists} | usage], "sglang-meta")
    for name in vllm.__slots__:
        np.testing.assert_array_equal(getattr(vllm, name), getattr(sglang, name), err_msg=name)


def test_a_stop_inside_the_accepted_prefix(source):
    """5 accepted and the bonus make 6, the stop token is the third: 3 are emitted, 5 stay counted."""
    block = source.block([stats([5], [5]) | {"usage": {"completion_tokens": 3}}], NAME)
    assert (
        block.accepted.tolist() == [5]
        and block.emitted.tolist() == [3]
        and block.output_tokens.tolist() == [3]
    )


def test_a_stop_beats_the_length_limit_when_it_comes_first(source):
    """[10, 11, STOP, 20, 21, 22] with max_new_tokens 5 ends at 3, reason stop, verified count whole."""
    response = {"choices": [{"index": 0, "finish_reason": "stop"} | stats([5], [7])]}
    block = source.block([response | {"usage": {"completion_tokens": 3}}], NAME)
    assert block.stop_reason == ("stop",) and block.emitted.tolist() == [3] and block.accepted.tolist() == [5]


def test_grammar_shortens_what_was_drafted(source):
    """A round that drafted fewer than configured has that depth, and the rate divides by it."""
    block = source.block([stats([0, 3, 2], [1, 3, 3], num_draft_tokens=7, num_spec_tokens=3)], NAME)
    assert block.depth.tolist() == [1, 3, 3] and block.accepted.sum() / block.depth.sum() == pytest.approx(
        5 / 7
    )


def test_a_round_without_drafts_is_a_round(source):
    """Depth 0 is plain decoding: one token, nothing accepted."""
    block = source.block([stats([0, 2], [0, 3])], NAME)
    assert block.depth.tolist() == [0, 3] and block.emitted.tolist() == [1, 3]


def test_steps_without_drafts_are_not_listed(source):
    """More output than the rounds commit: only drafting steps are listed, and nothing is invented."""
    block = source.block([stats([1, 2], [3, 3]) | {"usage": {"completion_tokens": 20}}], NAME)
    assert block.output_tokens.tolist() == [20] and block.emitted.tolist() == [2, 3]


def test_sparse_and_dense_histograms_agree(source):
    """{"0": 39, "1": 1, "3": 3} is [39, 1, 0, 3]; the order is lost and the set says so."""
    common = {"num_spec_steps": 43, "num_accepted_draft_tokens": 10, "mean_acceptance_length": 1.2326}
    for histogram in ({"0": 39, "1": 1, "3": 3}, [39, 1, 0, 3]):
        ((header, block),) = source.sets([common | {"acceptance_histogram": histogram}], NAME).values()
        assert not header.ordered and np.bincount(block.accepted).tolist() == [39, 1, 0, 3]
        assert block.depth.tolist() == [-1] * 43


def test_a_histogram_has_a_depth_only_if_all_rounds_drafted_it(source):
    """Drafted tokens below steps x depth mean that some rounds drafted less: which, nobody knows."""
    common = {"acceptance_histogram": [2, 1], "num_spec_steps": 3, "num_spec_tokens": 4}
    full = source.block([common | {"num_draft_tokens": 12}], NAME)
    pruned = source.block([common | {"num_draft_tokens": 11}], NAME)
    assert full.depth.tolist() == [4] * 3 and pruned.depth.tolist() == [-1] * 3


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (stats([1, 2], [3]), "2 entries in per_step_accepted, 1 in per_step_drafted"),
        (stats([4], [3]), "accepts 4 drafts of 3"),
        (stats([], []), "per_step_accepted is empty"),
        (stats([1], [3], num_spec_steps=2), "num_spec_steps is 2"),
        (stats([1], [3], num_accepted_draft_tokens=2), "num_accepted_draft_tokens is 2"),
        (stats([1], [3], num_draft_tokens=2), "num_draft_tokens is 2"),
        (stats([1], [3], mean_acceptance_length=1.5), "mean_acceptance_length is 1.5"),
        (stats([1], [3], mean_acceptance_length=float("inf")), "mean_acceptance_length is inf"),
        (stats([1], [3], acceptance_histogram=[1]), "does not count the entries"),
        (stats([None], [3]), "per_step_accepted[0] is None"),
        ({"acceptance_histogram": {"x": 1}, "num_spec_steps": 1}, "has the key 'x'"),
        ({"acceptance_histogram": {"-1": 1}, "num_spec_steps": 1}, "has the key '-1'"),
        ({"acceptance_histogram": {}, "num_spec_steps": 0}, "is empty"),
    ],
)
def test_records_that_cannot_be_true_are_named(source, record, reason):
    """Every counter must agree with the rounds, or the record is left out by name."""
    (found,) = source.reasons([record], NAME)
    assert found.startswith("1: ") and reason in found
