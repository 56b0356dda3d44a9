"""Table costs: interpolation, what is not offered, and reading the CSV forms people publish."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive_depth.controller.accept_curve import accept_curve
from adaptive_depth.controller.cost_csv import read_table
from adaptive_depth.controller.cost_file import load_cost
from adaptive_depth.controller.table_cost import TableCost
from adaptive_depth.policies.cost_model import LinearCost, Load
from adaptive_depth.traces.errors import ConfigError, CostError


def load(rows):
    """Loads of ``rows`` requests each; context and reads are of no account to a table."""
    rows = np.atleast_1d(np.array(rows, np.float64))
    return Load(rows, rows * 1000, rows * 1000, rows * 1000)


def rates(cost, rows, accept_length):
    """Tokens a second at every depth of the table."""
    seconds = cost.seconds(load(rows), np.array(cost.depths))[0]
    return rows * np.array([accept_length(k) for k in cost.depths]) / seconds


def best_depth(cost, rows, accept_length):
    return cost.depths[int(np.argmax(rates(cost, rows, accept_length)))]


def test_measured_batches_are_exact_and_between_is_log_linear():
    """A measured cell is returned as it is; half way on the log axis lies the geometric mean."""
    cost = TableCost((0, 3), (1, 4, 16), ((0.01, 0.02, 0.08), (0.03, 0.05, 0.07)))
    got = cost.seconds(load([1, 2, 4, 16]), np.array([3, 0]))
    assert got[:, 1].tolist() == [0.01, pytest.approx(np.sqrt(0.01 * 0.02)), 0.02, 0.08]
    assert got[[0, 2, 3], 0].tolist() == [0.03, 0.05, 0.07]


def test_outside_the_table_the_nearest_batch_holds():
    """Below the first and above the last batch the price stays that of the nearest."""
    cost = TableCost((1,), (4, 8), ((0.02, 0.03),))
    assert cost.seconds(load([1, 3, 8, 500]), np.array([1]))[:, 0].tolist() == [0.02, 0.02, 0.03, 0.03]


def test_what_was_not_measured_is_never_the_best():
    """A depth that is not in the table costs infinity, and so does one behind its own last batch."""
    cost = TableCost((0, 5), (1, 32, 64), ((0.01, 0.02, 0.03), (0.011, 0.021, np.nan)))
    got = cost.seconds(load([32, 33, 64]), np.array([0, 4, 5]))
    assert np.isinf(got[:, 1]).all()
    assert got[0, 2] == 0.021 and np.isinf(got[1:, 2]).all() and np.isfinite(got[:, 0]).all()


def test_loads_broadcast_like_other_costs():
    """A load of [G, W] is priced as [G, W, D] though only the rows count."""
    cost = TableCost((0, 1), (1, 2), ((0.01, 0.02), (0.02, 0.03)))
    wide = Load(np.array([[1], [2]]), np.ones((2, 1)), np.ones((2, 3)), np.ones((2, 3)))
    got = cost.seconds(wide, np.array([0, 1], np.int8))
    assert got.shape == (2, 3, 2) and (got[1] == [0.02, 0.03]).all()


@pytest.mark.parametrize(
    ("depths", "batches", "table", "reason"),
    [
        ((), (1,), (), "depths must ascend"),
        ((1, 1), (1,), ((1.0,), (1.0,)), "depths must ascend"),
        ((200,), (1,), ((1.0,),), "depths must ascend"),
        ((0,), (0,), ((1.0,),), "batches must ascend"),
        ((0,), (1, 2), ((1.0,),), "1 rows .* of 2 cells"),
        ((0,), (1,), ((np.nan,),), "depth 0 has no seconds"),
        ((0,), (1,), ((-1.0,),), "above 0"),
        ((0,), (1,), ((np.inf,),), "finite"),
    ],
)
def test_impossible_tables_are_refused(depths, batches, table, reason):
    """A table that cannot price anything is an error that says why."""
    with pytest.raises(CostError, match=reason):
        TableCost(depths, batches, table)


@given(st.lists(st.floats(1e-4, 10), min_size=3, max_size=3), st.integers(1, 300))
def test_prices_stay_within_the_measured_range(row, rows):
    """Interpolation never leaves the range of the measured prices, whatever their order."""
    got = TableCost((2,), (1, 7, 100), (tuple(row),)).seconds(load(rows), np.array([2]))[0, 0]
    assert min(row) * (1 - 1e-9) <= got <= max(row) * (1 + 1e-9)


def test_two_cost_tables_choose_two_depths():
    """The same acceptance has another best depth on another cost; a rule that sees only acceptance cannot
    know.
    """
    length = accept_curve("0.7")
    cheap = read_table(["depth,batch,seconds", "0,1,.010", "3,1,.012", "7,1,.014"], "cheap.csv")
    dear = read_table(["depth,batch,seconds", "0,1,.010", "3,1,.018", "7,1,.035"], "dear.csv")
    assert (best_depth(cheap, 1, length), best_depth(dear, 1, length)) == (7, 3)
    linear = [LinearCost(v0=0.01, v1=v1) for v1 in (1e-4, 2e-2)]
    depths = np.arange(8)
    gains = [np.array([length(k) for k in depths]) / c.seconds(load(1), depths)[0] for c in linear]
    assert [int(np.argmax(gain)) for gain in gains] == [7, 1]


def test_own_form_with_comments_and_a_byte_order_mark(tmp_path):
    """The simple form is read with comments, blank lines and a spreadsheet's byte order mark."""
    path = tmp_path / "mine.csv"
    path.write_text("\ufeff# timed on my box\ndepth,batch,seconds\n\n0,1,0.01\n2,1,0.015\n", "utf-8")
    assert load_cost(str(path)) == TableCost((0, 2), (1,), ((0.01,), (0.015,)))


CONCURRENCY = "concurrency,plain_tok_s,a_k3_tok_s,a_k3_AL,b_k7_tok_s,b_k7_AL\n4,400,500,2.5,600,3.0\n"


def test_concurrency_table_by_hand():
    """Seconds = concurrency x accept length / tokens a second, plain decoding at depth 0, one drafter
    picked.
    """
    cost = read_table(CONCURRENCY.splitlines(), "c.csv", "b")
    assert cost == TableCost((0, 7), (4,), ((4 / 400,), (4 * 3.0 / 600,)))
    with pytest.raises(
        CostError, match=r"c\.csv: holds 2 of drafter: pick one as FILE\.csv:NAME; known: a, b"
    ):
        read_table(CONCURRENCY.splitlines(), "c.csv")
    with pytest.raises(CostError, match=r"no drafter 'bb'"):
        read_table(CONCURRENCY.splitlines(), "c.csv", "bb")


THROUGHPUT = "model,steps,bs1,bs8\nM,1,100,400\nM,autotuned,120,410\nM,2,110,\n"


def test_throughput_table_by_hand():
    """Throughput becomes seconds by the accept length that is given; what is left out is named with its
    line.
    """
    cost = read_table(THROUGHPUT.splitlines(), "t.csv", None, accept_curve("1=1.5,2=2.0"))
    assert cost.depths == (1, 2) and cost.batches == (1, 8)
    assert cost.table[0] == (1.5 / 100, 8 * 1.5 / 400) and cost.table[1][0] == 2.0 / 110
    assert np.isnan(cost.table[1][1])
    assert cost.notes == (
        "t.csv:3: left out, 'autotuned' is not a fixed depth",
        "t.csv:4: no value for bs8, so depth 2 is not offered there",
    )


def test_throughput_without_accept_length_says_how_to_give_it():
    """Tokens a second alone are no cost; the error shows both ways to add what is missing."""
    with pytest.raises(CostError, match=r"t\.csv: holds throughput.*@0\.7.*@1=1\.7,2=2\.2"):
        read_table(THROUGHPUT.splitlines(), "t.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("depth,batch,seconds\n0,1,x", "f.csv:2: seconds is 'x', not a number"),
        ("depth,batch,seconds\n0,1,nan", "f.csv:2: seconds must be finite and above 0, got nan"),
        ("depth,batch,seconds\n# note\n0,1,-1", "f.csv:3: seconds must be finite and above 0, got -1"),
        ("depth,batch,seconds\n1.5,1,1", "f.csv:2: depth is '1.5', not a whole number of 0 or more"),
        ("depth,batch,seconds\n0,1,1,9", "f.csv:2: has 4 cells, the header 3"),
        ("depth,batch,seconds\n0,1,1\n0,1,2", "f.csv:3: depth 0 at batch 1 appears twice"),
        ("depth,batch,seconds\n0,0,1", "f.csv: batches must ascend"),
        ("depth,batch,seconds\n0,1", "f.csv:2: seconds is '', not a number"),
        ("depth,batch,seconds", "f.csv: holds no rows"),
        ("", "f.csv: holds no rows"),
        ("a,a\n1,2", "f.csv: the header names a column twice"),
        ("foo,bar\n1,2", "f.csv: unknown columns 'foo,bar'; known: 'depth,batch,seconds'"),
        ("depth,batch,seconds\n0,\0,1", "f.csv:2: holds NUL bytes"),
    ],
)
def test_bad_csv_is_named_by_file_line_and_reason(text, message):
    """Every bad table is one line that names the file, the line and the reason."""
    with pytest.raises(CostError) as error:
        read_table(text.splitlines(), "f.csv")
    assert str(error.value).startswith(message)


@given(st.text("0123456789,.#-naif\n\"' bsdepthcoual_k7tok\0", max_size=200), st.booleans())
def test_no_text_gives_a_traceback(text, headed):
    """Whatever a file holds, reading it gives a table or a cost error."""
    text = ("depth,batch,seconds\n" if headed else "model,steps,bs1\n") + text
    try:
        cost = read_table(text.splitlines(), "f.csv", None, accept_curve("0.5"))
    except CostError as error:
        assert str(error).startswith("f.csv")
    else:
        assert (cost.seconds(load(1), np.array(cost.depths)) > 0).all()


@pytest.mark.parametrize("text", ["1.5", "-1", "nan", "x", "1=1.7,2", "1=3", "1=0.5", "=", ""])
def test_bad_acceptance_is_refused(text):
    """An acceptance that is no chance, and no accept length a depth can have, is refused."""
    with pytest.raises(ConfigError, match="acceptance"):
        accept_curve(text)


def test_accept_length_of_a_depth_that_was_not_given():
    """A listed accept length is never guessed for another depth."""
    with pytest.raises(CostError, match="no accept length is given for depth 2"):
        read_table(THROUGHPUT.splitlines(), "t.csv", None, accept_curve("1=1.5"))


@pytest.mark.parametrize("drafter", ["eagle", "dspark"])
def test_published_concurrency_table_stops_speculating(foreign_data, drafter):
    """Published rates at one accept length: speculate at 32 concurrent requests, not at 64 and above."""
    path = foreign_data / "tables" / "swissai_apertus8b_chat_concurrency.csv"
    cost = load_cost(f"{path}:{drafter}")
    length = {"eagle": 2.33, "dspark": 2.59}[drafter]
    chosen = {c: best_depth(cost, c, lambda k: length if k else 1.0) for c in (1, 8, 32, 64, 128, 256)}
    assert chosen == {1: 7, 8: 7, 32: 7, 64: 0, 128: 0, 256: 0}


@pytest.mark.parametrize(
    ("model", "best"),
    [
        ("Qwen3-235B-A22B", {1: {4, 5}, 2: {4}, 4: {3, 4}, 8: {4}, 16: {4}, 32: {3}, 64: {2}}),
        ("GLM-4.7-FP8", {1: {5}, 2: {5}, 4: {5}, 8: {5}, 16: {3}, 32: {5}, 64: {3}}),
    ],
)
@pytest.mark.parametrize("chance", ["0.5", "0.8"])
def test_published_throughput_table_gives_back_its_best_depths(foreign_data, model, best, chance):
    """The best fixed depth by batch is that of the published throughput, whatever acceptance it is turned
    by.
    """
    path = foreign_data / "tables" / "autospec_sglang_pr22246.csv"
    cost = load_cost(f"{path}:{model}@{chance}")
    for batch, depths in best.items():
        assert best_depth(cost, batch, accept_curve(chance)) in depths, batch
