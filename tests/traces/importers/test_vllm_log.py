"""vLLM logs: metrics windows that satisfy their own identity, beside the engine line."""

import numpy as np
import pytest

NAME = "vllm-log"
LAUNCH = '+ vllm serve org/m --speculative-config {"method": "eagle3", "num_speculative_tokens": 3}\n'
CACHE = "(EngineCore pid=1) INFO 07-07 08:16:43 [kv.py:1] GPU KV cache size: 100,000 tokens\n"


def engine(number=0, running=2, usage="5.8", clock="08:19:12"):
    return (
        f"(APIServer pid=2) INFO 07-07 {clock} [loggers.py:273] Engine {number:03d}: "
        "Avg prompt throughput: 50.0 tokens/s, "
        f"Avg generation throughput: 15.9 tokens/s, Running: {running} reqs, Waiting: 0 reqs, "
        f"GPU KV cache usage: {usage}%, Prefix cache hit rate: 0.0%\n"
    )


def window(length="2.40", accepted="140", drafted="300", rates="0.800, 0.400, 0.200", clock="08:19:12"):
    return (
        f"(APIServer pid=2) INFO 07-07 {clock} [metrics.py:120] SpecDecoding metrics: "
        f"Mean acceptance length: {length}, "
        "Accepted throughput: 14.00 tokens/s, Drafted throughput: 30.00 tokens/s, "
        f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, "
        f"Per-position acceptance rate: {rates}, Avg Draft acceptance rate: 46.7%\n"
    )


def test_a_window_with_its_engine_line(source):
    """Counts, per-position rates, running requests, context and throughput of one window."""
    ((header, block),) = source.sets(LAUNCH + CACHE + engine() + window(), NAME).values()
    assert (block.accepted[0], block.drafted[0], block.accept_length[0]) == (140, 300, 2.40)
    assert block.per_position.tolist() == [[0.8, 0.4, 0.2]] and block.depth.tolist() == [3]
    assert (block.running[0], block.context[0], block.tokens_per_second[0]) == (2, 5800, 15.9)
    assert block.request_id == ("engine 000",) and (header.model, header.drafter) == ("org/m", "eagle3")


def test_the_identity_holds_in_what_is_imported(source):
    """AL = 1 + accepted / (drafted / k) = 1 + Σ per-position."""
    block = source.block(LAUNCH + window() + window("1.50", "50", "300", "0.400, 0.100, 0.000"), NAME)
    rounds = block.drafted / block.depth
    np.testing.assert_allclose(1 + block.accepted / rounds, block.accept_length, atol=0.0051)
    np.testing.assert_allclose(1 + block.per_position.sum(axis=1), block.accept_length, atol=0.0066)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (window(length="2.90"), "is not 1 + Σ per-position"),
        (window(accepted="301"), "accepted 301 of 300"),
        (window(length="nan"), "Mean acceptance length is 'nan'"),
        (window(length="0.50", rates=""), "below 1"),
        (window(rates="0.8, inf, 0.2"), "a per-position rate"),
        (window(rates="1.400, 0.000, 0.000"), "no shares"),
        (window(accepted="-5"), "Accepted is '-5'"),
        (window().split("Drafted: ")[0] + "\n", "without Drafted"),
    ],
)
def test_windows_that_break_the_identity_are_named(source, bad, reason):
    """The window is named with its line and left out; its neighbours survive."""
    imported = source.read(LAUNCH + window() + bad + window(), NAME)
    assert [len(block.depth) for _, block in imported.traces] == [2]
    (problem,) = imported.problems
    assert problem.line == 3 and reason in problem.reason


def test_without_a_launch_line_the_positions_give_the_depth(source):
    """vLLM prints one rate a drafted position."""
    assert source.block(window(), NAME).depth.tolist() == [3]


def test_rounds_that_drafted_less_have_no_one_depth(source):
    """Fewer drafts than rounds x k (grammar, adaptive drafting): the depth of the window is unknown."""
    assert source.block(LAUNCH + window(drafted="280"), NAME).depth.tolist() == [-1]


def test_older_windows_without_positions(source):
    """Only the launch line can give the depth then."""
    old = window().split(", Per-position")[0] + "\n"
    assert source.block(LAUNCH + old, NAME).depth.tolist() == [3]
    assert source.block(old, NAME).depth.tolist() == [-1]


def test_engines_are_streams_and_an_engine_line_serves_one_window(source):
    """Two engines interleave into two streams; a window without its own engine line knows no load."""
    content = (
        engine(0) + window() + engine(1, running=7) + window("1.50", "50", "300", "0.4, 0.1, 0.0") + window()
    )
    block = source.block(content, NAME)
    assert block.request_id == ("engine 000", "engine 001") and block.running.tolist() == [2, 7, -1]


def test_time_runs_over_the_end_of_the_year(source):
    """Stamps have no year: January after December goes on."""
    content = window().replace("07-07 08:19:12", "12-31 23:59:55") + window().replace(
        "07-07 08:19:12", "01-01 00:00:05"
    )
    assert source.block(content, NAME).time_s.tolist() == [0.0, 10.0]


def test_cache_use_too_small_to_show_is_unknown(source):
    """0.0 % with requests running is rounding, not an empty context."""
    assert source.block(LAUNCH + CACHE + engine(usage="0.0") + window(), NAME).context.tolist() == [-1]
