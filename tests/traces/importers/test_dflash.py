"""DFlash: per-round lengths and wall times of one JSON document."""

import json

import numpy as np
import pytest

NAME = "dflash"


def document(*samples, **config):
    config = {"block_size": 16, "dataset": "gsm8k", "temperature": 0.0} | config
    return json.dumps({"config": config, "per_sample": list(samples)}, indent=1)


def sample(lengths=(4, 1, 16), ends=(8.0, 20.5, 33.0), **more):
    steps = [{"ms": ms, "tokens": n} for ms, n in zip(ends, lengths, strict=False)]
    base = {"sample_index": 3, "num_input_tokens": 9, "acceptance_lengths": list(lengths)}
    return base | {"dflash_step_timestamps_ms": steps} | more


def test_seconds_are_differences_of_step_timestamps(source):
    """Milliseconds since the start become seconds of each round, alone in its batch, 15 drafts deep."""
    ((header, block),) = source.sets(document(sample()), NAME).values()
    np.testing.assert_allclose(block.seconds, [0.008, 0.0125, 0.0125])
    assert block.depth.tolist() == [15] * 3 and block.batch.tolist() == [1] * 3
    assert block.accepted.tolist() == [3, 0, 15] and block.context.tolist() == [9]
    assert header.k_max == 15 and header.temperature == 0.0


def test_warm_up_is_kept_and_marked(source):
    """Compile stalls stay in the trace; the workload tells a cost fit to leave them out."""
    block = source.block(document(sample(is_warmup=True), sample(is_warmup=False)), NAME)
    assert block.workload == ("gsm8k warm-up", "gsm8k")


def test_output_tokens_clip_the_last_round(source):
    """21 tokens in rounds, 18 in the output: the last round commits 13, and still accepted 15."""
    block = source.block(document(sample(dflash_num_output_tokens=18)), NAME)
    assert block.emitted.tolist() == [4, 1, 13] and block.accepted.tolist() == [3, 0, 15]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (sample(ends=(8.0, 20.5)), "one entry a round"),
        (sample(ends=(8.0, 7.0, 33.0)), "run backwards"),
        (sample(ends=(8.0, float("nan"), 33.0)), "ms is nan"),
        (sample(num_drafts=5), "num_drafts is 5"),
        (sample(lengths=(4, 1, 18)), "accepts 17 drafts of 15"),
        (sample(lengths=()), "acceptance_lengths is empty"),
        (sample(dflash_num_output_tokens=99), "the rounds commit 21 at most"),
    ],
)
def test_a_bad_sample_costs_only_itself(source, bad, reason):
    """The sample is named by its index; the others survive."""
    imported = source.read(document(sample(), bad), NAME)
    assert [block.requests for _, block in imported.traces] == [1]
    (problem,) = imported.problems
    assert problem.reason.startswith("sample 1: ") and reason in problem.reason


def test_without_a_block_size_the_depth_is_unknown(source):
    """Nothing is guessed from the longest block."""
    content = json.dumps({"config": {}, "per_sample": [sample()]})
    assert source.block(content, NAME).depth.tolist() == [-1] * 3
