"""Per-token proposal logs: rows become rounds, and the round in flight at the end commits nothing."""

import json

import pytest

NAME = "proposals"


def rows(*rounds, depth=6, batch=0):
    """Rows of rounds given as accepted counts, as vLLM's logger writes them."""
    out = []
    for number, accepted in enumerate(rounds):
        common = {"round": number, "batch": batch, "lam": float("-inf")}
        for position in range(accepted):
            drafted = {"actually_accepted": True, "emission_source": "accepted_draft"}
            out.append(common | {"pos_in_round": position} | drafted)
        recovered = {"actually_accepted": False, "emission_source": "recovered"}
        end = {"emission_source": "bonus"} if accepted == depth else recovered
        out.append(common | {"pos_in_round": accepted} | end)
    return out


def test_rows_become_rounds(source):
    """Accepted rows count, the recovered or bonus token does not; -Infinity in unused fields is harmless."""
    block = source.block(rows(5, 0, 6, 2), NAME)
    assert block.accepted.tolist() == [5, 0, 6, 2] and block.emitted.tolist() == [6, 1, 7, 3]
    assert block.depth.tolist() == [6] * 4


def test_without_a_whole_chain_the_depth_is_unknown(source):
    """No bonus row, no depth: the deepest accepted is only a lower bound."""
    assert source.block(rows(3, 1), NAME).depth.tolist() == [-1, -1]


def test_the_round_in_flight_when_the_end_was_seen(source):
    """The engine counted one round less: the extra one is kept as verified and emits nothing."""
    path = source.path = source.path.with_name("a_proposals.jsonl")
    run = {"output_tokens": 10, "input_tokens": 237, "finish_reason": "stop", "draft_rounds": 3}
    path.with_name("a_run.json").write_text(json.dumps(run))
    path.with_name("a_config.json").write_text(json.dumps({"model": "m", "temperature": 1.0}))
    ((header, block),) = source.sets(rows(5, 0, 6, 2), NAME).values()
    assert block.accepted.tolist() == [5, 0, 6, 2] and block.emitted.tolist() == [6, 1, 3, 0]
    assert block.output_tokens.tolist() == [10] and block.stop_reason == ("stop",)
    assert (header.model, header.temperature) == ("m", 1.0)


def test_requests_of_a_batch_are_kept_apart(source):
    """Rows of two requests interleave and become two requests."""
    mixed = [row for pair in zip(rows(2, 1), rows(1, 2, batch=1), strict=True) for row in pair]
    block = source.block(mixed, NAME)
    assert block.request_id == ("0", "1") and block.accepted.tolist() == [2, 1, 1, 2]


@pytest.mark.parametrize("missing", [0, 1])
def test_a_missing_row_is_named(source, missing):
    """A round with a hole cannot be counted on."""
    content = rows(4, 3, 2)
    del content[missing]
    imported = source.read(content, NAME)
    ((_, block),) = imported.traces
    assert block.accepted.tolist() == [3, 2]
    reasons = [problem.reason for problem in imported.problems]
    assert any("a row is missing or doubled" in reason for reason in reasons)
    assert missing == 0 or reasons[-1] == "request 0: 1 rounds without their last row are left out"


def test_a_torn_round_at_the_end_is_left_out(source):
    """Rows that end inside a chain do not say what the round accepted."""
    imported = source.read(rows(2, 5)[:-2], NAME)
    assert imported.traces[0][1].accepted.tolist() == [2]
    assert "1 rounds without their last row" in imported.problems[0].reason


def test_a_bad_neighbour_costs_nothing(source):
    """A torn run.json beside the rows is as good as none."""
    source.path = source.path.with_name("a_proposals.jsonl")
    source.path.with_name("a_run.json").write_text('{"output_tokens": ')
    source.path.with_name("a_config.json").write_text('{"temperature": NaN}')
    assert source.block(rows(5, 0), NAME).output_tokens.tolist() == [7]
