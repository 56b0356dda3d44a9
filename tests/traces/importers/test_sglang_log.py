"""SGLang logs: every dialect of the decode line, and the depth that the log itself tells."""

import json
from pathlib import Path

import numpy as np
import pytest

NAME = "sglang-log"
STAMP = "[2026-08-24 15:56:11 TP0] "
ARGS = "[2026-08-24 15:56:00] server_args={'model_path': 'org/m', 'speculative_num_steps': %s}\n"


def decode(length=None, rate=None, tokens=704, throughput="100.00", stamp=STAMP, running=1):
    spec = "" if length is None else f"accept len: {length}, accept rate: {rate}, "
    usage = f"#token: {tokens}, token usage: 0.01, "
    tail = f"cuda graph: True, gen throughput (token/s): {throughput}, #queue-req: 0\n"
    return f"{stamp}Decode batch, #running-req: {running}, {usage}{spec}{tail}"


DIALECTS = json.loads((Path(__file__).parents[2] / "vectors" / "sglang_dialects.json").read_text())


@pytest.mark.parametrize("dialect", DIALECTS, ids=[dialect["note"] for dialect in DIALECTS])
def test_every_dialect_gives_the_same_five_facts(source, dialect):
    """Stream, running requests, context, accept length and throughput come out of each."""
    block = source.block(dialect["line"] + "\r\n", NAME)
    assert block.request_id == (dialect["stream"],)
    for name in ("running", "context", "accept_length", "tokens_per_second"):
        expected = dialect[name]
        np.testing.assert_equal(getattr(block, name)[0], np.nan if expected is None else expected, name)


def test_no_accept_fields_means_no_speculation(source):
    """An interval without accept length has NaN there, not 0 and not 1."""
    block = source.block(decode(), NAME)
    assert np.isnan(block.accept_length[0]) and block.depth[0] == -1


def test_counts_the_log_does_not_give_are_unknown(source):
    """Only averages are printed: accepted and drafted tokens stay unknown."""
    block = source.block(decode(3.05, 0.68), NAME)
    assert (block.accepted[0], block.drafted[0]) == (-1, -1) and block.per_position.shape == (1, 0)


def test_ranks_are_streams(source):
    """Lines of several ranks and containers interleave and become one stream each, in order."""
    stamps = [
        "[2026-01-01 00:00:00 DP0 TP0] ",
        "[2026-01-01 00:00:00 DP1 TP0] ",
        "a-1 | [2026-01-01 00:00:00] ",
    ]
    block = source.block("".join(decode(2.0 + i, 0.5, stamp=s) for i in range(2) for s in stamps), NAME)
    assert block.request_id == ("DP0 TP0", "DP1 TP0", "a-1")
    assert block.start.tolist() == [0, 2, 4, 6] and block.accept_length.tolist() == [2.0, 3.0] * 3


def test_time_is_relative_to_the_streams_first_line(source):
    """Seconds and milliseconds count from the first stamp; an impossible date is unknown."""
    stamps = ["[2026-01-31 23:59:59] ", "[2026-02-01 00:00:00.500] ", "[2026-02-31 00:00:00] ", ""]
    block = source.block("".join(decode(stamp=stamp) for stamp in stamps), NAME)
    np.testing.assert_allclose(block.time_s, [0.0, 1.5, np.nan, np.nan])


def test_flush_artefacts_are_left_out_and_counted(source):
    """Running requests with an empty pool are no measurement."""
    content = decode(3.05, 0.68) + decode(5.6, 0.66, tokens=0) + decode(3.05, 0.68)
    ((header, block),) = source.sets(content, NAME).values()
    assert len(block.depth) == 2 and "flush artefacts left out: 1" in header.notes


def test_server_arguments_give_the_depth(source):
    """speculative_num_steps of the launch line holds for every line, and the model is named."""
    ((header, block),) = source.sets(ARGS % 5 + decode(1.32, 0.11), NAME).values()
    assert block.depth.tolist() == [5] and header.k_max == 5 and header.model == "org/m"


@pytest.mark.parametrize(
    "line",
    [
        "server_args=ServerArgs(model_path='m', speculative_num_steps=4, speculative_eagle_topk=1)\n",
        "+ python3 -m sglang.launch_server --model-path m --speculative-num-steps 4 --tp 2\n",
        "server_args={'speculative_num_steps': None, 'speculative_num_draft_tokens': 5}\n",
    ],
)
def test_other_ways_to_state_the_launch_depth(source, line):
    """Older representations, a shell trace, and draft tokens where steps are not given."""
    assert source.block(line + decode(1.32, 0.11), NAME).depth.tolist() == [4]


def test_adaptive_lines_set_the_depth_from_then_on(source):
    """Initialised at 3, moved to 5, then to 0: each line has the depth in force when it was printed."""
    content = (
        STAMP
        + "AdaptiveSpeculativeParams initialized: steps=3, candidate_steps=[0, 1, 3, 5]\n"
        + decode(2.0, 0.33)
        + "[2026-09-21 00:00:01 TP0] Adaptive spec params updated: steps 3 -> 5 (ema_accept_len=2.76)\n"
        + decode(4.0, 0.99)
        + decode(4.1, 0.99)
        + "[2026-09-21 00:00:01 TP0] Adaptive spec params updated: steps 5 -> 0 (ema_accept_len=0.10)\n"
        + decode(1.0, 0.0)
    )
    ((header, block),) = source.sets(content, NAME).values()
    assert block.depth.tolist() == [3, 5, 5, 0] and header.k_max == 5


def test_before_the_first_adaptive_line_the_depth_is_unknown(source):
    """The accept rate of an adaptive run divides by the launch width, so no depth is read off it."""
    update = "[2026-09-21 00:00:01 TP0] Adaptive spec params updated: steps 3 -> 5 (ema_accept_len=2.76)\n"
    ((header, block),) = source.sets(decode(3.05, 0.68) + update + decode(3.1, 0.3), NAME).values()
    assert block.depth.tolist() == [-1, 5] and "unknown depth" in header.notes


def test_an_interval_across_a_change_of_depth_contradicts_the_new_one(source):
    """5.1 tokens a round cannot be 1 draft: the interval spans the change and its depth is unknown."""
    update = "[2026-09-21 00:00:01 TP0] Adaptive spec params updated: steps 7 -> 1 (ema_accept_len=0.3)\n"
    content = update + decode(5.1, 0.6) + decode(1.9, 0.1)
    ((header, block),) = source.sets(content, NAME).values()
    assert block.depth.tolist() == [-1, 1] and "across a change of depth: 1" in header.notes


def test_a_relaunch_forgets_the_depth(source):
    """A second server in the same log starts anew."""
    content = ARGS % 5 + decode(1.32, 0.11) + ARGS % "None" + decode(1.32, 0.11)
    assert source.block(content, NAME).depth.tolist() == [5, -1]


def test_data_parallel_ranks_adapt_apart(source):
    """A change on DP1 leaves DP0 where it was; tensor-parallel ranks of one DP rank share the depth."""
    content = ARGS % 3
    content += (
        "[2026-09-21 00:00:01 DP1 TP0] Adaptive spec params updated: steps 3 -> 5 (ema_accept_len=2.7)\n"
    )
    for ranks in ("DP0 TP0", "DP1 TP0", "DP1 TP1"):
        content += decode(2.0, 0.3, stamp=f"[2026-09-21 00:00:02 {ranks}] ")
    assert source.block(content, NAME).depth.tolist() == [3, 5, 5]


def test_depth_read_off_the_accept_rates_of_a_whole_stream(source):
    """Where nothing states the depth and one reading fits all lines, it is taken, and the notes say so."""
    ((header, block),) = source.sets(decode(3.05, 0.68) + decode(1.32, 0.11), NAME).values()
    assert block.depth.tolist() == [3, 3] and "depth 3 read off accept rates of era D" in header.notes
    assert source.block(decode(2.47, 0.82), NAME).depth.tolist() == [2]


def test_an_ambiguous_stream_stays_unknown(source):
    """(1.32, 0.11) alone has two readings: the depth is unknown and counted as such."""
    ((header, block),) = source.sets(decode(1.32, 0.11), NAME).values()
    assert block.depth.tolist() == [-1] and header.k_max == 0 and "unknown depth: 1" in header.notes


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (decode("nan", "0.50"), "accept len is 'nan'"),
        (decode("inf", "0.50"), "accept len is 'inf'"),
        (decode("-3.05", "0.50"), "accept len is '-3.05'"),
        (decode("0.40", "0.50"), "below 1"),
        (decode("9.00", "0.50"), "above 5 drafts and the bonus"),
        (decode("3.05", "0.68", throughput="1e999"), "gen throughput (token/s) is '1e999'"),
        (decode("3.05", "0.68", running="9" * 30), "#running-req is '999"),
        (f"{STAMP}Decode batch, #queue-req: 0\n", "without #running-req"),
        ("Adaptive spec params updated: steps 3 -> 9999 (x)\n", "9999 is outside"),
    ],
)
def test_lines_that_cannot_be_true_are_named(source, line, reason):
    """The line is named and left out; the ones around it survive."""
    imported = source.read(ARGS % 5 + decode(2.0, 0.2) + line + decode(3.0, 0.4), NAME)
    assert [len(block.depth) for _, block in imported.traces] == [2]
    (problem,) = imported.problems
    assert problem.line == 3 and reason in problem.reason


def test_a_torn_last_line_loses_only_what_is_cut(source):
    """A log that ends inside a decode line keeps the lines before it and the fields it still has."""
    whole = decode(3.05, 0.68)
    block = source.block(whole + whole[: whole.index("cuda graph")], NAME)
    assert block.accept_length.tolist() == [3.05, 3.05] and np.isnan(block.tokens_per_second[1])


def test_stray_bytes_cost_nothing(source):
    """NUL bytes and broken UTF-8 between the lines of a log are passed over."""
    content = b"\x00\x00\xff\xfe\n" + decode(3.05, 0.68).encode() + b"\xff\x00"
    assert source.block(content, NAME).accept_length.tolist() == [3.05]
