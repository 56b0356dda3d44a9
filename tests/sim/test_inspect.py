"""Inspections: figures that can be checked by hand, for each kind of trace."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_depth.sim.inspect import inspect_blocks
from adaptive_depth.traces.blocks import select_requests
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import DenseBlock, IntervalsBlock, RoundsBlock
from adaptive_depth.traces.validate import value_faults


def dense(accepted, windows=(0,), k_max=3, **changes):
    """A one-request dense trace."""
    accepted = np.array(accepted, np.int8)
    count = accepted.shape[1]
    header = TraceHeader(kind="dense", trace_set="t", origin="synthetic", k_max=k_max, windows=windows)
    block = DenseBlock(("r",), ("code",), ("stop",), np.array([100]), np.array([0, count]), accepted)
    return header, dataclasses.replace(block, **changes)


def rounds(depth, accepted, ordered=True, **changes):
    """A one-request rounds trace that emits all it accepts."""
    accepted = np.array(accepted, np.int32)
    count = len(accepted)
    position = np.cumsum(accepted + 1) - accepted - 1
    header = TraceHeader(kind="rounds", trace_set="t", origin="recorded", k_max=5, ordered=ordered)
    block = RoundsBlock(
        ("r",),
        ("chat",),
        ("stop",),
        context=np.array([8000]),
        output_tokens=np.array([position[-1] + accepted[-1] + 1]),
        start=np.array([0, count]),
        position=position.astype(np.int32),
        depth=np.array(depth, np.int32),
        window=np.zeros(count, np.int32),
        accepted=accepted,
        emitted=accepted + 1,
        seconds=np.full(count, np.nan),
        batch=np.full(count, -1, np.int32),
    )
    return header, dataclasses.replace(block, **changes)


def test_dense_fixed_depths_and_cap():
    """Rounds at every fixed depth below the cap and at the cap itself, with the share of full chains."""
    header, block = dense([[3, 0, 1, 0, 2, 0]])
    found = inspect_blocks(header, [block]).findings
    assert [(f.depth, f.statistics.rounds) for f in found.at_fixed_depth] == [(1, 3), (2, 3), (3, 2)]
    assert found.at_fixed_depth[-1].statistics.accept_length == 3
    assert [f.at_cap for f in found.at_fixed_depth] == [1, pytest.approx(2 / 3), 0.5]
    assert found.at_cap == pytest.approx(1 / 6)
    assert [p.accepted for p in found.acceptance] == [3, 2, 1]
    assert found.positions == 6


def test_dense_windows_against_full_context():
    """The dose-response of the window: accept length by window and positions that differ from full."""
    header, block = dense([[0, 0, 1, 0], [3, 0, 1, 0]], windows=(512, 0))
    found = inspect_blocks(header, [block]).findings
    assert found.reference_window == 0
    got = [(w.window, w.accept_length, w.changed) for w in found.by_window]
    assert got == [(0, 4.0, 0.0), (512, pytest.approx(4 / 3), 0.25)]


def test_without_full_context_nothing_is_said_about_change():
    """If full context was not recorded, the share of changed positions is unknown."""
    header, block = dense([[0, 1]], windows=(512,))
    (window,) = inspect_blocks(header, [block]).findings.by_window
    assert window.changed is None


def test_confidence_is_calibrated_at_the_first_draft():
    """Stated confidence against acceptance by tenth; unknown confidence is left out."""
    probability = np.full((1, 4, 3), 0.01, np.float16)
    probability[0, :, 0] = [0.95, 1.0, 0.25, np.nan]
    header, block = dense([[3, 0, 0, 1]], probability=probability)
    bins = inspect_blocks(header, [block]).findings.calibration
    assert [(b.low, b.positions, b.accepted) for b in bins if b.positions] == [(0.2, 1, 0.0), (0.9, 2, 0.5)]
    assert bins[9].confidence == pytest.approx(0.975, abs=1e-3)


def test_looping_is_unknown_unless_recorded():
    """The share of positions in a loop is a figure only where it was flagged."""
    header, block = dense([[0, 0, 0, 0]])
    assert inspect_blocks(header, [block]).findings.looping is None
    flagged = dataclasses.replace(block, looping=np.array([True, False, False, False]))
    assert inspect_blocks(header, [flagged]).findings.looping == 0.25


def test_context_bands_follow_the_growing_context():
    """A request that grows past 8K counts in both bands; an unknown prompt is in none."""
    header, block = dense([[0] * 400], context=np.array([8000]))
    bands = inspect_blocks(header, [block]).findings.by_context
    assert [(b.name, b.requests, b.rounds) for b in bands] == [("<8K", 1, 192), ("8-32K", 1, 208)]
    header, block = dense([[0] * 4], context=np.array([-1]))
    assert [b.name for b in inspect_blocks(header, [block]).findings.by_context] == ["unknown"]


@pytest.mark.parametrize(
    ("context", "band"),
    [(8191, "<8K"), (8192, "8-32K"), (131072, "128-512K"), (524287, "128-512K"), (524288, ">=512K")],
)
def test_band_edges(context, band):
    """A band begins at its lower edge; K is 1024 tokens."""
    header, block = dense([[0]], context=np.array([context]))
    assert [b.name for b in inspect_blocks(header, [block]).findings.by_context] == [band]


def test_rounds_accept_length_is_over_rounds():
    """10 tokens in 10 rounds and 1000 in 200 make 1010/210, not the mean of two requests."""
    _, short = rounds([0] * 10, [0] * 10)
    header, long = rounds([4] * 200, [4] * 200)
    found = inspect_blocks(header, [short, long]).findings
    assert found.statistics.accept_length == pytest.approx(1010 / 210)
    assert found.output_tokens == 1010


def test_rounds_of_unknown_depth_say_nothing_by_position():
    """Unknown depth is shown as such; the accepted counts themselves remain."""
    header, block = rounds([-1, -1, 3], [2, 0, 3])
    found = inspect_blocks(header, [block]).findings
    assert [(g.name, g.rounds) for g in found.by_depth] == [("unknown", 2), ("3", 1)]
    assert found.rounds_of_known_depth == 1
    assert [p.reached for p in found.acceptance] == [1, 1, 1]
    assert found.accepted_histogram == (1, 0, 1, 1)
    nothing = inspect_blocks(*_blind(rounds([-1, -1], [2, 0]))).findings
    assert nothing.acceptance == ()
    assert nothing.at_cap is None


def _blind(trace):
    return trace[0], [trace[1]]


def test_verified_and_emitted_are_kept_apart():
    """Accept length counts what was verified, also in the round that a stop cut short."""
    header, block = rounds([5], [5], emitted=np.array([3], np.int32), output_tokens=np.array([3]))
    found = inspect_blocks(header, [block]).findings
    assert found.statistics.accept_length == 6
    assert found.output_tokens == 3


def test_unordered_rounds_have_no_correlation_and_only_the_prompt_as_context():
    """A histogram's made-up order enters no figure."""
    header, block = rounds([5] * 80, [4] * 80, ordered=False)
    found = inspect_blocks(header, [block]).findings
    assert found.statistics.autocorrelation_pooled is None
    assert [(b.name, b.rounds) for b in found.by_context] == [("<8K", 80)]
    bands = inspect_blocks(header.model_copy(update={"ordered": True}), [block]).findings.by_context
    assert [(b.name, b.rounds) for b in bands] == [("<8K", 39), ("8-32K", 41)]


def test_intervals_weigh_rounds_where_drafts_are_counted():
    """With drafted and depth an interval knows its rounds; without, only a mean over intervals is given."""
    header = TraceHeader(kind="intervals", trace_set="t", origin="imported", k_max=3)
    block = IntervalsBlock(
        ("log",),
        ("unknown",),
        start=np.array([0, 3]),
        time_s=np.array([0.0, 10, 20]),
        running=np.array([2, 2, 1], np.int32),
        context=np.array([60000, 60000, -1]),
        depth=np.array([3, 3, -1], np.int32),
        accept_length=np.array([2.0, 3.0, np.nan]),
        accepted=np.array([10, 200, -1]),
        drafted=np.array([30, 300, -1]),
        tokens_per_second=np.array([50.0, 70.0, np.nan]),
        per_position=np.array([[0.5, 0.3, 0.2], [0.9, 0.7, 0.4], [np.nan] * 3]),
    )
    inspection = inspect_blocks(header, [block])
    found = inspection.findings
    assert (inspection.requests, found.intervals, found.speculating) == (1, 3, 2)
    assert (found.rounds, found.accept_length) == (110, pytest.approx(1 + 210 / 110))
    assert found.accept_length_mean == 2.5
    assert found.acceptance == pytest.approx((0.7, 0.5, 0.3))
    assert [(g.name, g.intervals) for g in found.by_depth] == [("unknown", 1), ("3", 2)]
    assert [(g.name, g.intervals) for g in found.by_context] == [("unknown", 1), ("8-32K", 2)]
    uncounted = dataclasses.replace(block, drafted=np.full(3, -1), accepted=np.full(3, -1))
    assert inspect_blocks(header, [uncounted]).findings.accept_length is None


@pytest.mark.parametrize("kind", ["dense", "rounds", "intervals"])
@pytest.mark.parametrize("requests", [0, 1, 12])
def test_block_sizes_do_not_matter(make_trace, kind, requests):
    """The same trace in one block or in many gives the same findings, to the last digit of every count."""
    header, block = make_trace(kind, requests=requests, longest=60)
    whole = inspect_blocks(header, [block])
    parts = inspect_blocks(header, [select_requests(block, [r]) for r in range(requests)])
    assert _rounded(whole) == _rounded(parts)
    assert whole.requests == requests


def _rounded(inspection):
    text = json.dumps(dataclasses.asdict(inspection), allow_nan=False)
    return json.loads(text, parse_float=lambda number: round(float(number), 9))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["dense", "rounds", "intervals"]), st.integers(0, 2**32 - 1), st.data())
def test_whatever_the_reader_lets_through_can_be_inspected(make_trace, kind, seed, data):
    """Extreme values that pass the reader's checks never break a figure or become NaN."""
    header, block = make_trace(kind, seed)
    arrays = [f.name for f in dataclasses.fields(block) if isinstance(getattr(block, f.name), np.ndarray)]
    for name in data.draw(st.lists(st.sampled_from([a for a in arrays if a != "start"]), max_size=3)):
        array = getattr(block, name)
        if array.size and array.dtype != bool:
            array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(_extremes(array.dtype))
    bad = value_faults(header, block)
    kept = select_requests(block, [r for r in range(block.requests) if r not in bad])
    _rounded(inspect_blocks(header, [kept]))


def _extremes(dtype):
    if dtype.kind == "f":
        return st.sampled_from([0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 6e4])
    limits = np.iinfo(dtype)
    return st.sampled_from([limits.min, -1, 0, 1, 127, min(limits.max, 1 << 40), limits.max])
