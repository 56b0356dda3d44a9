"""Fixed-depth rounds on dense traces: exact, against a plain loop and against published integers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive_depth.sim.fixed_depth import emitted_tokens, round_starts
from adaptive_depth.sim.round_tally import RoundTally

DEPTHS = (0, 1, 2, 3, 5, 7, 20)
#: Rounds of the public dense lists at DEPTHS.
ROUNDS = {
    ("cnn", "acc_eagle"): (96644, 57784, 46452, 41575, 37557, 35938, 35160),
    ("instructcoder", "acc_eagle"): (125164, 74554, 59848, 53421, 47792, 45462, 44368),
    ("instructcoder", "acc_ngram"): (130989, 86824, 71861, 64604, 57235, 53524, 47445),
}
#: Lag-1 autocorrelation of their depth-7 rounds, pooled and within requests.
CORRELATION = {("cnn", "acc_eagle"): (0.13, 0.10), ("instructcoder", "acc_eagle"): (0.39, 0.24)}


def walk(lists, depth):
    """The rounds of each request by the plain rule: (flat start, tokens)."""
    rounds, offset = [], 0
    for accepted in lists:
        p = 0
        while p < len(accepted):
            tokens = min(min(accepted[p], depth) + 1, len(accepted) - p)
            rounds.append((offset + p, tokens))
            p += tokens
        offset += len(accepted)
    return rounds


def flatten(lists):
    start = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return np.array([a for one in lists for a in one], np.int8), start


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(st.integers(0, 20), max_size=60), max_size=6), st.integers(0, 25))
def test_equals_the_plain_loop(lists, depth):
    """Pointer doubling finds the same rounds and tokens as stepping through every request."""
    accepted, start = flatten(lists)
    starts = round_starts(accepted, start, depth)
    got = zip(starts.tolist(), emitted_tokens(starts, start).tolist(), strict=True)
    assert list(got) == walk(lists, depth)


@pytest.fixture(scope="module")
def public_set(foreign_data):
    """``public_set(task, key)``: accepted drafts without bonus of a public dense set, and its offsets."""

    def load(task, key):
        with (foreign_data / "dense" / f"specdecode_bench_{task}.jsonl").open() as lines:
            return flatten([[a - 1 for a in json.loads(line)[key]["acc_len"]] for line in lines])

    return load


@pytest.mark.parametrize("name", ROUNDS, ids="-".join)
def test_published_round_counts(public_set, name):
    """Static depths on the public dense sets give exactly the published rounds, and every token once."""
    accepted, start = public_set(*name)
    walks = [round_starts(accepted, start, depth) for depth in DEPTHS]
    assert tuple(map(len, walks)) == ROUNDS[name]
    assert all(emitted_tokens(starts, start).sum() == start[-1] for starts in walks)


@pytest.mark.parametrize("name", CORRELATION, ids="-".join)
def test_published_autocorrelation(public_set, name):
    """Depth-7 rounds of the public sets correlate as published, pooled and within requests."""
    accepted, start = public_set(*name)
    starts = round_starts(accepted, start, 7)
    tally = RoundTally()
    tally.add(emitted_tokens(starts, start), np.searchsorted(starts, start))
    got = tally.result()
    assert (got.autocorrelation_pooled, got.autocorrelation_within) == pytest.approx(
        CORRELATION[name], abs=0.01
    )
