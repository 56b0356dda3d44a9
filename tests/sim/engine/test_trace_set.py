"""A trace set answers only for what was recorded, and says what was assumed."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.traces.errors import TraceFormatError


def test_rows_of_finds_every_recorded_window(trace_of):
    """In the order asked for."""
    assert trace_of([[1, 2]], windows=(0, 512, 4032)).rows_of((4032, 0)) == [2, 0]


def test_a_window_that_covers_everything_is_the_full_one(trace_of):
    """936 + 64 sink tokens cover a request that ends at 1,000 tokens; one less does not."""
    trace = trace_of([[1] * 200], windows=(0,), context=800)
    assert trace.rows_of((936,)) == [0]
    with pytest.raises(TraceFormatError, match="window 935 was not recorded"):
        trace.rows_of((935,))


def test_at_context_moves_the_price_and_says_so(trace_of):
    """Same counts at another context, with a note; at its own context the trace itself."""
    trace = trace_of([[1, 0], [2]], context=1000)
    moved = trace.at_context(500_000)
    assert moved.context.tolist() == [500_000, 500_000]
    assert moved.accepted is trace.accepted and "500,000" in moved.note
    assert trace.at_context(1000) is trace


def test_a_window_below_the_context_is_assumed_and_said_so(trace_of):
    """It takes the counts of full context, as ``modelled``."""
    trace = trace_of([[1, 0], [2]], context=1000)
    wide = trace.with_windows((0, 512), 64)
    assert wide.windows == (0, 512) and wide.sink == 64 and wide.evidence == "modelled"
    np.testing.assert_array_equal(wide.accepted[1], trace.accepted[0])
    assert "assumed" in wide.note


def test_a_window_that_covers_every_context_is_exact(trace_of):
    """It reads all there is, up to the request's last token."""
    trace = trace_of([[1, 0]], context=1000)
    assert (trace.with_windows((938,), 64).evidence, trace.with_windows((937,), 64).evidence) == (
        "exact",
        "modelled",
    )


def test_with_windows_leaves_recorded_windows_alone(trace_of):
    """What was recorded is not replaced by an assumption."""
    trace = trace_of([[1, 0]], windows=(0, 512))
    assert trace.with_windows((4032,), 64) is trace
