"""Replay reports made by hand, for the tests of what is written about them."""

from __future__ import annotations

import pytest

from adaptive_depth.sim.replay_report import ReplayReport, ReplayRow, RequestPath, SetPictures

NO_SPEC = 40.0


@pytest.fixture(scope="session")
def make_row():
    """``make_row(policy, rate, ...)``: a plausible row at a context of 1.04M; fields by keyword."""
    return _row


@pytest.fixture(scope="session")
def make_set():
    """``make_set(name, origin, ...)``: the rows of one trace set, every role and one unsupported depth."""
    return _rows


@pytest.fixture(scope="session")
def make_pictures():
    """``make_pictures(name, origin, ...)``: what the page draws for one trace set."""
    return _pictures


@pytest.fixture(scope="session")
def report():
    """One set of each origin, with pictures."""
    names = [("code-edit", "imported"), ("nem-1m-ruler", "synthetic"), ("own-server", "recorded")]
    rows = [row for name, origin in names for row in _rows(name, origin)]
    return ReplayReport(rows, [_pictures(name, origin) for name, origin in names])


def _row(policy, rate, *, role="policy", depth=None, window=4032, best=100.0, top=120.0, **fields):
    supported = rate is not None
    gain = rate / best - 1 if supported else None
    depths = {depth: 1000} if depth is not None else {2: 300, 3: 700}
    values = dict(
        trace_set="made",
        origin="recorded",
        cost="q122-b200",
        context=1_040_000,
        batch=1,
        lag=2,
        policy=policy,
        requests=480,
        rounds=1000,
        tokens=63_232,
        seconds=63_232 / rate if supported else None,
        tokens_per_second=rate,
        ms_per_token=1000 / rate if supported else None,
        accept_length=2.61 if supported else None,
        mean_depth=(depth if depth is not None else 2.7) if supported else None,
        depth_histogram=depths if supported else {},
        window_histogram={window: 970, 0: 30} if depth is None else {window: 1000},
        switches_per_1000=(0.0 if depth is not None else 84.2) if supported else None,
        vs_best_static=gain,
        vs_best_static_per_request=gain - 0.02 if supported else None,
        vs_clairvoyant=rate / top - 1 if supported else None,
        gap_closed=(rate - best) / (top - best) if supported else None,
        speedup_vs_no_spec=rate / NO_SPEC - 1 if supported else None,
        ci95=(gain - 0.004, gain + 0.005) if supported else None,
        evidence="exact" if supported else "unsupported",
        coverage=1.0 if supported else 0.0,
        role=role,
        lanes=480,
    )
    if not supported:
        values["window_histogram"] = {}
    return ReplayRow(**(values | fields))


def _rows(name="made", origin="recorded", **fields):
    fields |= {"trace_set": name, "origin": origin}
    ladder = {0: NO_SPEC, 1: 70.0, 2: 91.25, 3: 100.0, 5: 93.0, 7: 38.0}
    rows = [_row("static", 98.0, depth=3, window=0, **fields)]
    rows += [_row("sglang-ema", 99.9, **fields), _row("throughput-aware", 97.1, **fields)]
    rows += [_row("marginal", 105.3, **fields)]
    rows += [
        _row(f"static:{k}@{w}", r - (w == 0), role="ladder", depth=k, window=w, **fields)
        for k, r in ladder.items()
        for w in ((4032, 0) if k else (0,))
    ]
    note = "deeper than recorded (7)"
    rows += [_row("static:9@4032", None, role="ladder", note=note, **fields)]
    rows += [_row("best static", 100.0, role="hindsight", depth=3, **fields)]
    rows += [_row("best static per request", 103.0, role="hindsight", **fields)]
    return [*rows, _row("clairvoyant", 120.0, role="hindsight", **fields)]


def _pictures(name="made", origin="recorded", request="req-1", **fields):
    depths = [0, 1, 2, 3, 5, 7]
    rates = {0: [39, 69, 90, 99, 92, 37], 4032: [40, 70, 91.25, 100, 93, 38]}
    positions = [0, 1, 4, 6, 10, 12, 13]
    window = [0, 0, 4032, 4032, 4032, 0, 0]
    depth, accepted = [3, 3, 5, 5, 3, 2, 2], [0, 2, 1, 3, 1, 0, 2]
    path = RequestPath("marginal", request, positions, depth, window, accepted)
    values = dict(
        trace_set=name,
        origin=origin,
        evidence="exact",
        windows=[0, 4032],
        ladder={w: list(zip(depths, map(float, r), strict=True)) for w, r in rates.items()},
        marginal={w: [0.8 * 0.75**j - w / 80_000 for j in range(7)] for w in (0, 4032)},
        conditional={w: [0.8] + [0.75 - w / 80_000] * 6 for w in (0, 4032)},
        paths=[path],
        round_seconds={w: [(k, 0.012 + k * (0.0022 - w * 2e-7)) for k in depths] for w in (0, 4032)},
    )
    return SetPictures(**(values | fields))
