"""SpecDecode-Bench: dense accept lengths become dense traces, one set a drafter."""

import numpy as np
import pytest

NAME = "specdecode-bench"


def record(eagle=(3, 1, 2, 1), ngram=(1, 1, 21), **more):
    return {
        "id": "a",
        "prompt_token_ids": [1, 2, 3],
        "generated_token_ids": [4, 5, 6, 7],
        "acc_eagle": {"acc_len": list(eagle)},
        "acc_ngram": {"acc_len": list(ngram)},
    } | more


def test_bonus_is_excluded_and_the_cap_is_twenty(source):
    """Lengths include the bonus: accepted is one less, 0..20, and the set says so."""
    sets = source.sets([record()], NAME)
    header, block = sets["-ngram"]
    assert header.kind == "dense" and header.k_max == 20 and header.origin == "imported"
    np.testing.assert_array_equal(block.accepted, [[0, 0, 20]])
    np.testing.assert_array_equal(sets["-eagle"][1].accepted, [[2, 0, 1, 0]])


def test_context_is_the_prompt_and_lists_may_be_shorter_than_the_output(source):
    """The list's own length is the number of positions; the prompt gives the context."""
    block = source.sets([record(), record(id="b", eagle=[1])], NAME)["-eagle"][1]
    assert block.request_id == ("a", "b")
    assert block.context.tolist() == [3, 3] and block.output_tokens.tolist() == [4, 1]


BAD = [[0, 1], [22], [1.5], [True], ["1"], [float("nan")], [], None, [-1], [10**400]]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_list_costs_its_drafter_only(source, bad):
    """The other drafter's list of the same record survives; the fault is named with its line."""
    content = [record(), record(id="b") | {"acc_eagle": {"acc_len": bad}}]
    imported = source.read(content, NAME)
    requests = {header.trace_set: block.requests for header, block in imported.traces}
    assert requests == {"source-eagle": 1, "source-ngram": 2}
    (problem,) = imported.problems
    assert problem.line == 2 and problem.reason.startswith("acc_eagle: ")


def test_a_record_without_lists_is_named(source):
    """A line of another shape is a problem, not a request with nothing in it."""
    assert source.reasons([record(), {"id": "x"}, [1, 2]], NAME)[0].startswith("2: holds none of acc_eagle")


def test_many_requests_arrive_in_bounded_blocks(source):
    """More requests than a block holds come in several blocks, none lost and none reordered."""
    imported = source.read([record(id=str(i)) for i in range(1100)], NAME)
    eagle = [block for header, block in imported.traces if header.trace_set.endswith("eagle")]
    assert max(block.requests for block in eagle) <= 512
    assert [name for block in eagle for name in block.request_id] == [str(i) for i in range(1100)]
