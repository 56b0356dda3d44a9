"""Spec-Bench: accept lengths with the bonus, turns in one list."""

import numpy as np
import pytest

NAME = "spec-bench"


def record(lengths, steps=None, tokens=None, model="m-temperature-0.0", **more):
    choice = {"index": 0, "accept_lengths": lengths, "decoding_steps": steps, "new_tokens": tokens}
    return {"question_id": 1, "category": "math", "model_id": model, "choices": [choice]} | more


def test_rounds_exclude_the_bonus_and_turns_follow_each_other(source):
    """Positions run on over the turns of a question; tokens add up to new_tokens."""
    block = source.block([record([1, 2, 3, 6, 1], [3, 2], [6, 7])], NAME)
    assert block.accepted.tolist() == [0, 1, 2, 5, 0]
    assert block.position.tolist() == [0, 1, 3, 6, 12]
    assert block.emitted.tolist() == [1, 2, 3, 6, 1] and block.output_tokens.tolist() == [13]


def test_what_the_file_does_not_say_is_unknown(source):
    """Tree depth, seconds and context are unknown, not zero; k_max is the deepest accepted."""
    ((header, block),) = source.sets([record([3, 1], [2], [4])], NAME).values()
    assert block.depth.tolist() == [-1, -1] and np.isnan(block.seconds).all()
    assert block.context.tolist() == [-1] and header.k_max == 2 and header.temperature == 0.0


def test_a_stop_inside_a_turn_cuts_the_emitted_not_the_verified(source):
    """new_tokens below the sum: the last round of that turn commits less, its accepted count stays."""
    block = source.block([record([3, 4, 2, 2], [2, 2], [5, 4])], NAME)
    assert block.accepted.tolist() == [2, 3, 1, 1]
    assert block.emitted.tolist() == [3, 2, 2, 2] and block.position.tolist() == [0, 3, 5, 7]


def test_one_round_in_flight_at_the_end_is_tolerated(source):
    """One more recorded round than the engine counted: it is kept and commits nothing."""
    block = source.block([record([3, 2, 4], [2], [5])], NAME)
    assert block.emitted.tolist() == [3, 2, 0] and block.output_tokens.tolist() == [5]


@pytest.mark.parametrize(
    ("lengths", "steps", "tokens", "reason"),
    [
        ([], [32], [256], "accept_lengths is empty"),
        ([0, 1], [2], [1], "accept_lengths[0] is 0"),
        ([2, 2], [5], [4], "decoding_steps sum to 5"),
        ([2, 2], [2], [9], "the rounds commit 4 at most"),
        ([2, 2, 2, 2], [4], [2], "lie behind the last"),
        ([2, 2], [1, 1], [4], "2 turns, new_tokens 1"),
        ([2, float("inf")], [2], [4], "accept_lengths[1] is inf"),
        ([2, 500], [2], [4], "accept_lengths[1] is 500"),
    ],
)
def test_records_that_cannot_be_true_are_named(source, lengths, steps, tokens, reason):
    """Empty is not zero, and part never exceeds whole; the good record beside it survives."""
    imported = source.read([record([1], [1], [1]), record(lengths, steps, tokens)], NAME)
    assert sum(block.requests for _, block in imported.traces) == 1
    (problem,) = imported.problems
    assert problem.line == 2 and reason in problem.reason


def test_nan_in_an_unused_field_is_harmless(source):
    """wall_time is not used, so NaN there costs nothing."""
    bad_time = record([1], [1], [1])
    bad_time["choices"][0]["wall_time"] = [float("nan")]
    assert source.block([bad_time], NAME).requests == 1


def test_repeats_of_a_prompt_keep_its_name(source):
    """The same question twice is two requests of one name: a repeat is no new prompt."""
    block = source.block([record([1], [1], [1]), record([1], [1], [1])], NAME)
    assert block.request_id == ("1", "1")


def test_temperatures_are_never_mixed(source):
    """Records of two temperatures become two sets, each with its own in the header."""
    hot = record([1], [1], [1], model="m-temperature-1.0")
    sets = source.sets([record([2], [1], [2]), hot, record([3], [1], [3])], NAME)
    assert {name: (h.temperature, b.requests) for name, (h, b) in sets.items()} == {
        "": (0.0, 2),
        "-t1": (1.0, 1),
    }
