"""A rounds trace made dense keeps what was recorded and owns up to the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adaptive_depth.controller.presets import preset
from adaptive_depth.sim.complete_rounds import complete_rounds
from adaptive_depth.sim.engine.constant import replay_constant


def at_rounds(trace, block):
    row = np.repeat(np.arange(block.requests), np.diff(block.start))
    return trace.start[row] + block.position


def test_every_recorded_count_is_kept(play_rounds):
    """A rejection exactly; a chain accepted whole as at least its depth."""
    header, block = play_rounds((2, 5, 3))
    trace = complete_rounds(header, block)
    at = at_rounds(trace, block)
    counts, cut = trace.accepted[0, at], block.accepted == block.depth
    np.testing.assert_array_equal(np.minimum(counts, block.depth), block.accepted)
    np.testing.assert_array_equal(counts[~cut], block.accepted[~cut])
    assert cut.any() and (counts[cut] >= block.depth[cut]).all()


def test_known_says_how_deep_the_record_goes(play_rounds):
    """127 behind a rejection, the depth behind a chain accepted whole, -1 where no round began."""
    header, block = play_rounds((2, 5, 3))
    trace = complete_rounds(header, block)
    want = np.full(trace.accepted.shape[1], -1)
    want[at_rounds(trace, block)] = np.where(block.accepted < block.depth, 127, block.depth)
    np.testing.assert_array_equal(trace.known, want)


def test_nothing_deeper_than_recorded_is_invented(play_rounds):
    """The deepest count is the deepest round."""
    trace = complete_rounds(*play_rounds((1, 4)))
    assert trace.k_max == 4 and trace.accepted.max() <= 4


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_static_at_the_played_depth_plays_the_recorded_rounds(depth, play_rounds):
    """Request by request, and every one of them is known."""
    header, block = play_rounds((depth,))
    run = replay_constant(complete_rounds(header, block), depth, 0, preset("q35-b200"))
    assert run.rounds.tolist() == np.diff(block.start).tolist()
    assert run.known_rounds == len(block.depth)


def test_another_depth_is_known_in_part(play_rounds):
    """Where depth 5 was played, depth 2 starts some rounds elsewhere."""
    header, block = play_rounds((5,))
    run = replay_constant(complete_rounds(header, block), 2, 0, preset("q35-b200"))
    assert 0 < run.known_rounds < int(run.rounds.sum())


def test_counts_without_order_are_known_nowhere(play_rounds):
    """A histogram says how often, not where."""
    trace = complete_rounds(*play_rounds((3,), ordered=False))
    assert (trace.known == -1).all()
    assert trace.accepted.mean() == pytest.approx(play_rounds((3,))[1].accepted.mean(), rel=0.25)


def test_the_same_seed_fills_in_the_same(play_rounds):
    """And another seed something else."""
    header, block = play_rounds((3, 4))
    one, two, other = (complete_rounds(header, block, seed).accepted for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_an_unknown_context_is_assumed_and_said_so(play_rounds):
    """The note names the figure."""
    header, block = play_rounds((3,))
    trace = complete_rounds(header, replace(block, context=np.full(block.requests, -1, np.int64)))
    assert (trace.context > 0).all() and f"{trace.context[0]:,}" in trace.note


def test_a_request_without_output_is_left_out(play_rounds):
    """It has nothing to replay."""
    header, block = play_rounds((3,), requests=5)
    output = block.output_tokens.copy()
    output[2] = 0
    assert complete_rounds(header, replace(block, output_tokens=output)).request_id == (
        "r0",
        "r1",
        "r3",
        "r4",
    )
