"""``sim replay``: the JSON contract, honest rows, one line a problem, exit codes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from adaptive_depth.sim.cli import main
from adaptive_depth.traces.blocks import empty_block
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import DenseBlock
from adaptive_depth.traces.store import write_trace
from adaptive_depth.traces.synth_simple import phases

CONTRACT = [
    *("trace_set", "origin", "cost", "context", "batch", "lag", "policy", "requests", "rounds", "tokens"),
    *("seconds", "tokens_per_second", "ms_per_token", "accept_length", "mean_depth", "depth_histogram"),
    *("window_histogram", "switches_per_1000", "vs_best_static", "vs_best_static_per_request"),
    *("vs_clairvoyant", "gap_closed", "speedup_vs_no_spec", "ci95", "evidence", "coverage"),
]
RULES = {"sglang-ema", "throughput-aware", "bandit", "marginal"}


@pytest.fixture
def dense(tmp_path):
    """A folder with one dense trace of two windows at 1.04M tokens."""
    block = phases(np.random.default_rng(0), [(80, 3.0), (80, 0.5)], requests=12, windows=2)
    header = TraceHeader(
        kind="dense", trace_set="made", origin="synthetic", k_max=7, windows=(0, 4032), sink=64
    )
    write_trace(tmp_path / "traces" / "made.trace.parquet", header, [block])
    return tmp_path / "traces"


@pytest.fixture
def replayed(tmp_path, capsys):
    """Run the command and read its JSON: ``replayed(path, *flags) -> rows``."""

    def run(path, *flags):
        target = tmp_path / "out" / "report.json"
        assert main(["replay", str(path), "--json", str(target), *flags]) == 0, capsys.readouterr().err
        document = json.loads(target.read_text(), parse_constant=lambda name: pytest.fail(name))
        assert list(document) == ["schema", "rows"] and document["schema"] == "adaptive-depth-replay/1"
        return document["rows"]

    return run


def named(rows, policy):
    return next(row for row in rows if row["policy"] == policy)


def test_json_contract(dense, replayed):
    """Every row has every agreed key; rules, hindsight and the whole ladder are there."""
    rows = replayed(dense)
    for row in rows:
        assert set(CONTRACT) <= set(row)
        assert row["evidence"] in ("exact", "modelled", "unsupported")
    policies = [row["policy"] for row in rows]
    assert set(policies) >= {*RULES, "best static per request", "clairvoyant", "static:7@0", "static:7@4032"}
    assert len(policies) == len(set(policies))


def test_ratios_follow_from_the_rates(dense, replayed):
    """Fractions of what stands in the same table."""
    rows = replayed(dense, "--lag", "2")
    ladder = [row for row in rows if row["policy"].startswith("static:")]
    best = max(row["tokens_per_second"] for row in ladder)
    seer, ours = named(rows, "clairvoyant"), named(rows, "marginal")
    rate = ours["tokens_per_second"]
    assert ours["vs_best_static"] == pytest.approx(rate / best - 1)
    assert ours["vs_clairvoyant"] == pytest.approx(rate / seer["tokens_per_second"] - 1)
    assert ours["gap_closed"] == pytest.approx((rate - best) / (seer["tokens_per_second"] - best))
    plain = next(row for row in ladder if row["depth_histogram"].keys() == {"0"})
    assert ours["speedup_vs_no_spec"] == pytest.approx(rate / plain["tokens_per_second"] - 1)
    assert ours["ci95"][0] <= ours["vs_best_static"] <= ours["ci95"][1]
    assert seer["vs_clairvoyant"] == 0 and seer["gap_closed"] == pytest.approx(1)


def test_counts_agree_with_each_other(dense, replayed):
    """Tokens, rounds, seconds and histograms of a row tell one story."""
    for row in replayed(dense):
        assert row["tokens"] == 12 * 160 and row["requests"] == 12
        assert sum(row["depth_histogram"].values()) == sum(row["window_histogram"].values()) == row["rounds"]
        assert row["tokens_per_second"] == pytest.approx(row["tokens"] / row["seconds"])
        assert row["ms_per_token"] == pytest.approx(1e3 * row["seconds"] / row["tokens"])
        assert row["accept_length"] == pytest.approx(row["tokens"] / row["rounds"])
        depths = sum(int(k) * n for k, n in row["depth_histogram"].items())
        assert row["mean_depth"] == pytest.approx(depths / row["rounds"])
        assert (row["evidence"], row["coverage"]) == ("exact", 1.0)


def test_a_static_row_deeper_than_recorded_is_unsupported(dense, replayed):
    """It says why and holds no figure."""
    row = named(replayed(dense, "--policy", "static:9", "--policy", "marginal"), "static:9")
    assert (row["evidence"], row["coverage"]) == ("unsupported", 0.0)
    assert row["tokens_per_second"] is None and row["vs_best_static"] is None and row["rounds"] == 0


def test_rounds_are_exact_only_as_played(play_rounds, tmp_path, replayed):
    """The played depth reproduces the record, others are modelled, a deeper one is unsupported."""
    header, block = play_rounds((3,), requests=20)
    write_trace(tmp_path / "played.trace.parquet", header, [block])
    flags = [f for depth in (3, 2, 4) for f in ("--policy", f"static:{depth}")]
    rows = replayed(tmp_path / "played.trace.parquet", "--context", "own", *flags)
    played, other, deeper = (next(r for r in rows if r["policy"] == f"static:{d}") for d in (3, 2, 4))
    assert (played["evidence"], played["coverage"], played["rounds"]) == ("exact", 1.0, len(block.depth))
    assert other["evidence"] == "modelled" and 0 < other["coverage"] < 1
    assert deeper["evidence"] == "unsupported"


def test_a_histogram_is_modelled_throughout(play_rounds, tmp_path, replayed):
    """Rounds whose order is lost support no exact row."""
    header, block = play_rounds((3,), requests=20, ordered=False)
    write_trace(tmp_path / "counted.trace.parquet", header, [block])
    rows = replayed(tmp_path / "counted.trace.parquet", "--policy", "static:3")
    assert {(row["evidence"], row["coverage"]) for row in rows} == {("modelled", 0.0)}


def test_intervals_are_never_replayed(make_trace, tmp_path, capsys):
    """A log of averages gives what it measured; nothing replayed means exit code 2."""
    header, block = make_trace("intervals", requests=2, longest=9)
    write_trace(tmp_path / "log.trace.parquet", header, [block])
    assert main(["replay", str(tmp_path), "--json", str(tmp_path / "r.json")]) == 2
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert {row["evidence"] for row in rows} == {"unsupported"}
    assert rows[0]["policy"] == "as logged"


def test_batch_shares_rounds(dense, replayed):
    """Every row is at the batch asked for; the exact bound needs rounds of one request."""
    rows = replayed(dense, "--batch", "4", "--policy", "marginal")
    assert {row["batch"] for row in rows} == {4}
    assert named(rows, "clairvoyant")["evidence"] == "unsupported"
    alone = named(replayed(dense, "--policy", "marginal"), "marginal")
    assert named(rows, "marginal")["seconds"] < alone["seconds"]


def test_context_changes_the_price_not_the_counts(dense, replayed):
    """Shorter prompts, same rounds at a fixed depth."""
    near, far = (
        named(replayed(dense, "--context", context, "--policy", "static:3"), "static:3")
        for context in ("300_000", "1_000_000")
    )
    assert (near["context"], far["context"]) == (300_000, 1_000_000)
    assert near["rounds"] == far["rounds"] and near["seconds"] < far["seconds"]


def test_window_limits_the_candidates(dense, replayed):
    """Only what was asked for is played."""
    for row in replayed(dense, "--window", "4032", "--policy", "marginal"):
        assert row["window_histogram"].keys() == {"4032"}


def test_a_window_that_was_not_recorded_is_one_clear_line(dense, capsys):
    """And nothing remains, so the exit code is 2."""
    assert main(["replay", str(dense), "--window", "1024"]) == 2
    assert "window 1024 was not recorded" in capsys.readouterr().err


def test_policy_file(dense, replayed, tmp_path):
    """A file's rule, candidates and all, under the name of the file."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"version": 1, "policy": "static", "parameters": {"depth": 2}}))
    rows = replayed(dense, "--policy", str(path))
    assert named(rows, str(path))["depth_histogram"].keys() == {"2"}


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--policy", "margnal"], "marginal"),
        (["--policy", "marginal:switch_costs=1"], "switch_cost"),
        (["--cost", "q36-b200"], "q35-b200"),
        (["--lag", "4"], "invalid choice"),
        (["--batch", "0"], "below 1"),
        (["--window", "-1"], "from 0"),
        (["--depths", "1,1"], "distinct"),
        (["--depths", "99"], "recorded"),
    ],
)
def test_bad_flags_are_refused_with_what_would_be_right(flags, says, dense, capsys):
    """One message, no traceback, exit code 2."""
    try:
        code = main(["replay", str(dense), *flags])
    except SystemExit as stop:
        code = stop.code
    err = capsys.readouterr().err
    assert code == 2 and says in err and "Traceback" not in err


def test_nothing_to_replay(tmp_path, capsys):
    """An empty folder, a missing path, a trace without requests: exit code 2 and a line that says so."""
    empty = tmp_path / "empty"
    empty.mkdir()
    header = TraceHeader(kind="dense", trace_set="none", origin="synthetic", k_max=3, windows=(0,))
    write_trace(tmp_path / "none.trace.parquet", header, [empty_block(header)])
    for path in (empty, tmp_path / "missing", tmp_path / "none.trace.parquet"):
        assert main(["replay", str(path)]) == 2
        assert capsys.readouterr().err.strip()


def test_a_request_without_output_is_no_division_by_zero(tmp_path, replayed, make_trace):
    """It is among the requests and adds nothing."""
    header, block = make_trace("dense", requests=4, longest=20, windows=(0,), k_max=4, seed=3)
    assert isinstance(block, DenseBlock)
    block = replace(block, context=np.full(4, 900_000))
    write_trace(tmp_path / "t.trace.parquet", header, [block])
    for row in replayed(tmp_path / "t.trace.parquet", "--policy", "marginal"):
        assert row["tokens"] == int(block.output_tokens.sum())


def test_csv_and_html_are_written_too(dense, tmp_path):
    """Into folders that are made."""
    target = tmp_path / "deep" / "down"
    flags = ["--csv", str(target / "r.csv"), "--html", str(target / "r.html"), "--policy", "marginal"]
    assert main(["replay", str(dense), *flags]) == 0
    assert (target / "r.csv").read_text().startswith("trace_set,")
    assert "<html" in (target / "r.html").read_text()


def test_public_recordings(foreign_data, tmp_path, replayed):
    """A dense recording is exact, at the rounds others counted; that of rounds says it is modelled."""
    sources = [
        foreign_data / "dense" / "specdecode_bench_cnn.jsonl",
        *(foreign_data / "spec_bench").glob("query_product_rank__*.jsonl"),
    ]
    out = tmp_path / "imported"
    assert main(["import", *map(str, sources), "--out", str(out)]) == 0
    rules = ("--policy", "sglang-ema", "--policy", "marginal")
    rows = replayed(out, "--context", "own", "--depths", "0,3,5", *rules)
    dense = [row for row in rows if row["trace_set"].startswith("specdecode")]
    assert {row["evidence"] for row in dense if row["policy"] != "sglang-ema"} == {"exact"}
    rounds = {(row["trace_set"], row["policy"]): row["rounds"] for row in dense}
    assert rounds["specdecode_bench_cnn-eagle", "static:3"] == 41_575
    others = [row for row in rows if row not in dense]
    assert {row["evidence"] for row in others if row["policy"] == "marginal"} == {"modelled"}
