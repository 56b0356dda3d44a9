"""What ``sim replay`` writes for programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

from adaptive_depth.sim.replay_report import ReplayReport
from adaptive_depth.sim.report.replay_csv import COLUMNS, to_csv
from adaptive_depth.sim.report.replay_json import to_json

# fmt: off
CONTRACT = [
    "trace_set", "origin", "cost", "context", "batch", "lag", "policy", "requests", "rounds", "tokens",
    "seconds", "tokens_per_second", "ms_per_token", "accept_length", "mean_depth", "depth_histogram",
    "window_histogram", "switches_per_1000", "vs_best_static", "vs_best_static_per_request",
    "vs_clairvoyant", "gap_closed", "speedup_vs_no_spec", "ci95", "evidence", "coverage",
]
# fmt: on


def test_json_keys_are_the_contract(report):
    """A document is a schema and rows; a row has exactly the agreed keys, in order, then our own."""
    document = json.loads(to_json(report))
    assert list(document) == ["schema", "rows"] and document["schema"] == "adaptive-depth-replay/1"
    assert len(document["rows"]) == len(report.rows)
    for row in document["rows"]:
        assert list(row) == [*CONTRACT, "role", "lanes", "note"]


def test_json_keeps_every_digit(make_row):
    """Ratios stay fractions and come back bit for bit; histogram keys are strings in numeric order."""
    row = make_row("marginal", 100.1, vs_best_static=0.1 + 0.2, depth_histogram={10: 1, 2: 5})
    (got,) = json.loads(to_json(ReplayReport([row])))["rows"]
    assert got["vs_best_static"] == 0.1 + 0.2 and got["ci95"] == list(row.ci95)
    assert list(got["depth_histogram"].items()) == [("2", 5), ("10", 1)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_json_never_says_nan(make_row, bad):
    """What is no number is ``null``, in the interval too."""
    row = make_row("marginal", 1.0, gap_closed=bad, seconds=bad, ci95=(bad, 0.5), coverage=bad)
    (got,) = json.loads(to_json(ReplayReport([row])), parse_constant=pytest.fail)["rows"]
    assert got["gap_closed"] is got["seconds"] is got["coverage"] is None and got["ci95"] == [None, 0.5]


def test_json_takes_numpy_numbers(make_row):
    """Counts and figures from arrays are written like plain ones."""
    fields = {
        "rounds": np.int64(7),
        "window_histogram": {np.int32(512): np.int64(7)},
        "mean_depth": np.float64(2.5),
    }
    (got,) = json.loads(to_json(ReplayReport([make_row("marginal", 1.0, **fields)])))["rows"]
    assert (got["rounds"], got["window_histogram"], got["mean_depth"]) == (7, {"512": 7}, 2.5)


def test_csv_holds_the_same_rows(report):
    """Every cell is the JSON's value: histograms joined, the interval in two columns, null empty."""
    rows = list(csv.DictReader(io.StringIO(to_csv(report))))
    want = json.loads(to_json(report))["rows"]
    assert len(rows) == len(want)
    for got, row in zip(rows, want, strict=True):
        low, high = row.pop("ci95") or (None, None)
        for name in ("depth_histogram", "window_histogram"):
            pairs = (pair.split(":") for pair in got.pop(name).split(";") if pair)
            assert {key: int(count) for key, count in pairs} == row.pop(name)
        for name, value in (row | {"ci95_low": low, "ci95_high": high}).items():
            assert got[name] == ("" if value is None else str(value)), name
    assert to_csv(report).split("\n")[0] == ",".join(COLUMNS)


def test_csv_quotes_names(make_row):
    """Commas, quotes and line ends in a name or a note survive."""
    row = make_row('a,"b"', 1.0, trace_set="x\ny", note="1;2,3")
    (got,) = csv.DictReader(io.StringIO(to_csv(ReplayReport([row])), newline=""))
    assert (got["policy"], got["trace_set"], got["note"]) == ('a,"b"', "x\ny", "1;2,3")
