"""Other people's files give the totals that are known of them (skipped where the files are not at hand)."""

import json
import re

import numpy as np
import pytest

from adaptive_depth.traces.importers import recognise


@pytest.fixture
def sets(foreign_data):
    """Import a file: ``{trace set: (header, blocks)}`` and the problems."""

    def read(name):
        imported = recognise(foreign_data / name).read(foreign_data / name)
        found = {}
        for header, block in imported.traces:
            found.setdefault(header.trace_set, (header, []))[1].append(block)
        return found, imported.problems

    return read


@pytest.mark.parametrize(
    ("name", "requests", "positions"),
    [
        ("specdecode_bench_cnn-eagle", 300, 96_644),
        ("specdecode_bench_instructcoder-eagle", 500, 125_164),
        ("specdecode_bench_instructcoder-ngram", 500, 130_989),
    ],
)
def test_dense_lists(sets, name, requests, positions):
    """Every output position of every request, none more."""
    found, problems = sets(f"dense/{name.rsplit('-', 1)[0]}.jsonl")
    _, blocks = found[name]
    assert not problems and sum(b.requests for b in blocks) == requests
    assert sum(b.accepted.shape[1] for b in blocks) == positions


ROUNDS = {  # depth: (cnn eagle, instructcoder eagle, instructcoder ngram)
    0: (96_644, 125_164, 130_989),
    1: (57_784, 74_554, 86_824),
    2: (46_452, 59_848, 71_861),
    3: (41_575, 53_421, 64_604),
    5: (37_557, 47_792, 57_235),
    7: (35_938, 45_462, 53_524),
    20: (35_160, 44_368, 47_445),
}


@pytest.mark.parametrize("depth", ROUNDS)
def test_rounds_of_every_fixed_depth(sets, depth):
    """Walked in plain Python, the imported lists give the published round counts exactly."""
    names = ("cnn-eagle", "instructcoder-eagle", "instructcoder-ngram")
    for name, expected in zip(names, ROUNDS[depth], strict=True):
        found, _ = sets(f"dense/specdecode_bench_{name.split('-')[0]}.jsonl")
        rounds = 0
        for block in found[f"specdecode_bench_{name}"][1]:
            for lo, hi in zip(block.start[:-1].tolist(), block.start[1:].tolist(), strict=True):
                accepted, at = block.accepted[0, lo:hi].tolist(), 0
                while at < hi - lo:
                    at += min(accepted[at], depth) + 1
                    rounds += 1
        assert rounds == expected


@pytest.mark.parametrize(
    ("name", "requests", "rounds", "tokens"),
    [
        ("vicuna-7b-v1.3-eagle-float16-temperature-0.0", 480, 25_525, 91_342),
        ("query_product_rank__vicuna-7b-v1.3-eagle-float16-temperature-0.0", 50, 3_383, 13_226),
        ("spec_bench__vicuna-7b-v1.3-eagle-float16-temperature-0.0", 164, 12_143, 45_657),
    ],
)
def test_spec_bench_totals(sets, name, requests, rounds, tokens):
    """Requests, rounds and tokens; the sum of lengths is the sum of new tokens."""
    found, _ = sets(f"spec_bench/{name}.jsonl")
    header, blocks = found[name]
    assert header.temperature == 0.0 and header.k_max == 5
    assert sum(b.requests for b in blocks) == requests and sum(len(b.accepted) for b in blocks) == rounds
    assert sum(int((b.accepted + 1).sum()) for b in blocks) == tokens
    assert (
        sum(int(b.output_tokens.sum()) for b in blocks) == tokens == sum(int(b.emitted.sum()) for b in blocks)
    )


def test_the_torn_line_is_named(sets):
    """Line 165 is 3,190 NUL bytes; the 164 rows before it are good."""
    _, problems = sets("spec_bench/spec_bench__vicuna-7b-v1.3-eagle-float16-temperature-0.0.jsonl")
    assert [(p.line, p.reason) for p in problems] == [(165, "holds 3190 NUL bytes (a torn write?)")]


@pytest.mark.parametrize(("name", "rows"), [("HOSTILE_empty*", 20), ("test_bench__*eagle3*", 4)])
def test_files_of_empty_lists_hold_nothing(foreign_data, name, rows):
    """Every row is named as empty, and no request of zero rounds appears."""
    (path,) = foreign_data.glob(f"spec_bench/{name}")
    imported = recognise(path).read(path)
    assert imported.traces == [] and len(imported.problems) == rows
    assert all("accept_lengths is empty" in p.reason for p in imported.problems)


@pytest.mark.parametrize(
    ("name", "rounds", "at_cap"),
    [
        ("eagle3__gsm8k", 5_551, 0.004),
        ("ltd__gsm8k", 5_141, 0.140),
        ("supervised_depth__mt_bench", 11_255, 0.711),
    ],
)
def test_lagged_depths_contain_every_round(sets, name, rounds, at_cap):
    """With one round of lag no round accepts more than it drafted; the stuck controller sits at its cap."""
    found, problems = sets(f"adaptive_runs/{name}.jsonl")
    _, (block,) = found[name]
    known = block.depth >= 0
    assert not problems and block.requests == 80 and len(block.depth) == rounds
    assert (~known).sum() == 80 and (block.accepted[known] <= block.depth[known]).all()
    assert np.mean(block.accepted[known] == block.depth[known]) == pytest.approx(at_cap, abs=0.002)


def test_without_the_lag_348_rounds_are_violated(foreign_data, sets):
    """Counted on the raw lists: 348 of 5,141 against none of what was imported."""
    text = (foreign_data / "adaptive_runs" / "ltd__gsm8k.jsonl").read_text()
    raw = [choice for line in text.splitlines() for choice in json.loads(line)["choices"]]
    pairs = [pair for c in raw for pair in zip(c["pre_num"], c["dyn_depths"], strict=True)]
    found, _ = sets("adaptive_runs/ltd__gsm8k.jsonl")
    (block,) = found["ltd__gsm8k"][1]
    assert (sum(pre > depth + 2 for pre, depth in pairs), len(pairs)) == (348, 5_141)
    assert int((block.accepted > block.depth)[block.depth >= 0].sum()) == 0


@pytest.mark.parametrize(
    ("name", "rounds", "tau"),
    [("stripped_aime25", 1_326, 6.911504424778761), ("stripped_gsm8k", 338, 5.6875)],
)
def test_dflash_reproduces_the_published_mean(sets, name, rounds, tau):
    """The accept length over the measured rounds is the file's own tau; warm-up holds the stalls."""
    found, problems = sets(f"dflash/{name}.json")
    header, (block,) = found[name]
    warm = np.repeat([w.endswith("warm-up") for w in block.workload], np.diff(block.start))
    assert not problems and header.k_max == 15 and len(block.accepted) == rounds
    assert (block.accepted[~warm] + 1).mean() == pytest.approx(tau)
    assert block.seconds[warm].max() > 1 > block.seconds[~warm].max()


def test_sglang_agentic_log(sets, foreign_data):
    """36 decode lines: one flush artefact, 11 short and 24 at 300K; k = 7 can be read off the rates."""
    text = (foreign_data / "sglang_logs" / "agentic_300k_head.log").read_text()
    printed = [float(x) for x in re.findall(r"accept len: ([\d.]+)", text)]
    found, problems = sets("sglang_logs/agentic_300k_head.log")
    header, (block,) = found["agentic_300k_head"]
    long = block.context >= 300_000
    assert not problems and len(printed) == 36 and "flush artefacts left out: 1" in header.notes
    assert ((~long).sum(), long.sum()) == (11, 24) and set(block.depth.tolist()) == {7}
    assert block.accept_length[long].mean() == pytest.approx(3.47, abs=0.005)
    assert (block.accept_length[~long].sum() + printed[0]) / 12 == pytest.approx(4.70, abs=0.006)


def test_sglang_rate_identity(foreign_data):
    """In all 36 lines (AL - 1) / 7 is the printed rate to within 0.006."""
    text = (foreign_data / "sglang_logs" / "agentic_300k_head.log").read_text()
    pairs = re.findall(r"accept len: ([\d.]+), accept rate: ([\d.]+)", text)
    assert len(pairs) == 36 and all(abs((float(a) - 1) / 7 - float(r)) < 0.006 for a, r in pairs)


def test_sglang_dialects(sets):
    """Lines of many servers in one file: all read, and no depth guessed."""
    found, problems = sets("sglang_logs/dialects.log")
    _, (block,) = found["dialects"]
    assert not problems and block.request_id == ("TP0", "log") and block.start.tolist() == [0, 3, 6]
    assert set(block.depth.tolist()) == {-1}


@pytest.mark.parametrize(
    ("name", "windows"), [("server_20260707_081401", 40), ("server_20260715_014443", 70)]
)
def test_vllm_identity_in_every_window(sets, name, windows):
    """AL = 1 + accepted / (drafted / k) = 1 + Σ per-position, to rounding, and k is the launched 5."""
    found, problems = sets(f"vllm_logs/{name}.log")
    _, (block,) = found[name]
    assert not problems and len(block.depth) == windows and set(block.depth.tolist()) == {5}
    np.testing.assert_allclose(1 + block.accepted / (block.drafted / 5), block.accept_length, atol=0.0051)
    np.testing.assert_allclose(1 + block.per_position.sum(axis=1), block.accept_length, atol=0.0076)


def test_vllm_collapse_at_long_context(sets):
    """The second log drafts in vain at a context of about 7,500 tokens."""
    found, _ = sets("vllm_logs/server_20260715_014443.log")
    _, (block,) = found["server_20260715_014443"]
    known = block.context > 0
    assert np.median(block.context[known]) == pytest.approx(7_500, rel=0.05)
    assert block.accept_length.mean() < 1.2


def test_gptoss_has_one_round_in_flight(sets):
    """183 rounds recorded, 182 counted by the engine; 558 tokens; the last round commits nothing."""
    found, problems = sets("gptoss_raw/raw_humaneval_case_001_proposals.jsonl")
    header, (block,) = found["raw_humaneval_case_001_proposals"]
    assert not problems and len(block.accepted) == 183 and int((block.emitted > 0).sum()) == 182
    assert int(block.emitted.sum()) == 558 and int(block.accepted[:-1].sum()) == 378
    assert set(block.depth.tolist()) == {6} and header.temperature == 1.0
