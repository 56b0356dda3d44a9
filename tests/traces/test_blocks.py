"""Blocks join and divide without losing or mixing requests."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from adaptive_depth.traces.blocks import concat_blocks, select_requests


@pytest.mark.parametrize("kind", ["dense", "rounds", "intervals"])
def test_select_picks_whole_requests_in_the_order_asked(make_trace, same_blocks, kind):
    """Requests may be reordered and repeated; each brings exactly its own rows."""
    _, block = make_trace(kind, requests=6)
    rows = [4, 0, 0, 5]
    same_blocks(select_requests(block, rows), concat_blocks([select_requests(block, [r]) for r in rows]))
    one = select_requests(block, [4])
    lo, hi = block.start[4:6]
    field = {"dense": "accepted", "rounds": "position", "intervals": "drafted"}[kind]
    np.testing.assert_array_equal(getattr(one, field), getattr(block, field)[..., lo:hi])
    assert one.request_id == (block.request_id[4],)


def test_joining_pads_positions_with_unknown(make_trace):
    """Interval blocks of different width join to the widest; what was not recorded is NaN."""
    narrow, wide = (make_trace("intervals", k_max=k)[1] for k in (2, 5))
    joined = concat_blocks([narrow, wide])
    assert joined.per_position.shape[1] == 5
    assert np.isnan(joined.per_position[: len(narrow.depth), 2:]).all()


def test_blocks_that_do_not_belong_together_are_refused(make_trace):
    """No blocks, two kinds, or confidence in one block only: an error, not a guess."""
    dense, rounds = make_trace("dense")[1], make_trace("rounds")[1]
    for blocks in ([], [dense, rounds], [dense, dataclasses.replace(dense, looping=None)]):
        with pytest.raises(ValueError):
            concat_blocks(blocks)
