"""``sim fit-cost``: known costs come back from noisy rounds, and what cannot be known is said."""

import json

import numpy as np
import pytest

from adaptive_depth.controller.cost_file import load_cost, read_cost_file
from adaptive_depth.controller.presets import preset
from adaptive_depth.policies.cost_model import LinearCost, Load
from adaptive_depth.sim.commands import fit_cost as command
from adaptive_depth.sim.commands import import_
from adaptive_depth.sim.fit_cost import PREFERENCE, fit_cost
from adaptive_depth.sim.round_samples import RoundSamples, collect, joined, sound
from adaptive_depth.traces.command_line import execute, make_parser
from adaptive_depth.traces.errors import CostError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import RoundsBlock
from adaptive_depth.traces.store import write_trace


def made(cost, rng, rounds=2000, batches=(1,), contexts=(8_000, 1_000_000), windows=(0, 4032), noise=0.03):
    """Rounds of random depth, context, window and batch at a known cost, extend windowed."""
    batch, depth = rng.choice(batches, rounds), rng.integers(0, 8, rounds)
    context = np.exp(rng.uniform(*np.log(contexts), rounds)).astype(np.int64)
    window = rng.choice(windows, rounds)
    reads = np.where(window > 0, np.minimum(context, window + 64), context)
    samples = RoundSamples(batch, context, reads, depth, np.ones(rounds))
    every = cost.seconds(samples.load(cost.extend_windowed), np.arange(8))
    seconds = every[np.arange(rounds), depth] * np.exp(noise * rng.standard_normal(rounds))
    return RoundSamples(batch, context, reads, depth, seconds)


def worst(fitted, true, samples):
    """Largest relative error of the price over the samples' loads and all depths."""
    load = samples.load(true.extend_windowed)
    return np.abs(fitted.seconds(load, np.arange(8)) / true.seconds(load, np.arange(8)) - 1).max()


@pytest.mark.parametrize("name", ["q35-b200", "q122-b200", "nem-b200"])
@pytest.mark.parametrize("batches", [(1,), (1, 2, 4, 8)])
def test_known_cost_comes_back(name, batches):
    """3 % noise and 2,000 rounds: every price in the recorded range is within 3 %."""
    samples = made(preset(name), np.random.default_rng(1), batches=batches)
    fit = fit_cost(samples, extend_windowed=True, extend_at_zero=False)
    assert worst(fit.cost, preset(name), samples) < 0.03
    assert fit.r_squared > 0.9 and all(abs(row.residual_percent) < 2 for row in fit.residuals)
    assert sum(row.rounds for row in fit.residuals) == fit.rounds


def test_warm_up_and_stalls_are_rejected():
    """5 % of stalls (5x to 50x) and compile rounds of many seconds at every depth change prices by under
    1 %.
    """
    true, rng = preset("q35-b200"), np.random.default_rng(2)
    clean = made(true, rng, contexts=(200_000, 1_000_000))
    seconds = clean.seconds.copy()
    hit = rng.random(len(seconds)) < 0.05
    seconds[hit] *= rng.uniform(5, 50, hit.sum())
    seconds[:16] = 13.2
    dirty = RoundSamples(clean.batch, clean.context, clean.window_reads, clean.depth, seconds)
    fits = [fit_cost(s, extend_windowed=True, extend_at_zero=False) for s in (clean, dirty)]
    assert worst(fits[1].cost, fits[0].cost, clean) < 0.01
    assert fits[1].rejected >= hit.sum() and fits[0].rejected < 40


def test_stalls_are_judged_within_their_depth_and_batch():
    """A slow depth is no stall; ten times the usual of its own depth is; a cell of few rounds is not
    judged.
    """
    depth = np.array([0] * 20 + [7] * 20 + [3] * 2)
    seconds = np.where(depth == 7, 0.1, 0.01)
    seconds[[5, 25, 41]] *= 10
    ones = np.ones(len(depth), np.int64)
    keep = sound(RoundSamples(ones, ones, ones, depth, seconds))
    assert np.flatnonzero(~keep).tolist() == [5, 25]


def test_a_rare_long_context_is_no_stall():
    """One round in ten at 1M, four times as slow as the rest at 8K, is kept and priced right."""
    true, rng = preset("q122-b200"), np.random.default_rng(9)
    near = made(true, rng, rounds=900, contexts=(8_000, 9_000), windows=(4032,))
    far = made(true, rng, rounds=100, contexts=(1_000_000, 1_040_000), windows=(4032,))
    fit = fit_cost(joined([near, far]), extend_windowed=True, extend_at_zero=False)
    assert fit.rejected < 20 and worst(fit.cost, true, far) < 0.05


def test_what_one_place_cannot_tell_is_named_and_zero():
    """One depth, batch and context determine one number; every other term is named and 0."""
    count = np.ones(50, np.int64)
    fit = fit_cost(RoundSamples(count, 1000 * count, 1000 * count, 3 * count, np.full(50, 0.02)))
    assert set(fit.collinear) == set(PREFERENCE) - {"v0"}
    assert fit.cost == LinearCost(v0=pytest.approx(0.02)) and fit.r_squared is None


def test_one_batch_names_the_terms_per_request():
    """With one batch size a term per request equals a term per round: the later is named, prices stay
    right.
    """
    samples = made(preset("nem-b200"), np.random.default_rng(3))
    fit = fit_cost(samples, extend_windowed=True, extend_at_zero=False)
    assert "f1" in fit.collinear and fit.cost.f1 == 0.0
    assert not set(fit.collinear) & {"v0", "f0", "v2"}


def test_noise_is_not_extrapolated():
    """A context slope that is within noise at 1K is 0, not tens of milliseconds at 1M."""
    samples = made(
        LinearCost(v0=0.012, f0=5e-4), np.random.default_rng(4), contexts=(900, 1_100), windows=(0,)
    )
    fit = fit_cost(samples)
    assert "v2" in fit.insignificant and fit.cost.v2 == fit.cost.x2 == fit.cost.f2 == 0.0
    far = Load(*(np.array([v]) for v in (1, 1_000_000, 1_000_000, 1_000_000)))
    assert fit.cost.seconds(far, np.array([0]))[0, 0] == pytest.approx(0.012, rel=0.02)


@pytest.mark.parametrize("rounds", [0, 19])
def test_too_few_rounds_is_an_error(rounds):
    """Fewer than twenty usable rounds are refused with their number."""
    samples = made(preset("q35-b200"), np.random.default_rng(5), rounds=rounds)
    with pytest.raises(CostError, match=f"{rounds} timed rounds are usable, at least 20"):
        fit_cost(samples)


def block(seconds, depth, workload="w", context=1000, batch=2, window=0):
    """A request of one round per element."""
    count = len(seconds)
    ints = [np.full(count, v, np.int32) for v in (window, 0, 1, batch)]
    return RoundsBlock(
        ("r",),
        (workload,),
        ("length",),
        np.array([context]),
        np.array([count]),
        np.array([0, count]),
        np.arange(count, dtype=np.int32),
        np.array(depth, np.int32),
        ints[0],
        ints[1],
        ints[2],
        np.array(seconds, np.float64),
        ints[3],
    )


HEADER = TraceHeader(kind="rounds", trace_set="t", origin="recorded", k_max=7, windows=(0, 512), sink=4)


def test_collect_takes_what_is_timed_and_counts_the_rest():
    """Rounds without seconds or depth and warm-up requests are left out and counted; the context grows."""
    samples, counts = collect(
        [
            (HEADER, block([0.01, np.nan, 0.03, 0.04], [1, 1, -1, 2])),
            (HEADER, block([9.0], [1], workload="gsm8k warm-up")),
            (HEADER, block([0.02], [3], context=-1, batch=-1, window=512)),
        ]
    )
    assert samples.seconds.tolist() == [0.01, 0.04, 0.02] and samples.depth.tolist() == [1, 2, 3]
    assert samples.context.tolist() == [1000, 1003, 0] and samples.batch.tolist() == [2, 2, 1]
    assert counts == {
        "rounds": 6,
        "rounds without seconds": 1,
        "rounds of warm-up requests": 1,
        "rounds of unknown depth": 1,
        "rounds of unknown batch, taken as 1": 1,
        "rounds of unknown context, taken as the output so far": 1,
    }


def test_window_and_batch_enter_the_load():
    """A draft step reads window + sink of each request; extend too where it is windowed."""
    samples, _ = collect([(HEADER, block([0.01], [1], context=10_000, batch=3, window=512))])
    stock, patched = samples.load(False), samples.load(True)
    assert (stock.context, stock.extend, stock.reads) == (30_000, 30_000, 3 * 516)
    assert patched.extend == 3 * 516


def run(module, *argv):
    return execute(make_parser("sim", "", (module,)), [module.NAME, *map(str, argv)])


def traced(path, rng, cost):
    """A trace of 300 timed rounds at one context and batch."""
    depth = rng.integers(0, 8, 300)
    load = Load(*(np.array([v]) for v in (2, 2_000, 2_000, 2_000)))
    seconds = cost.seconds(load, depth)[0] * np.exp(0.02 * rng.standard_normal(300))
    write_trace(path, HEADER, [block(seconds, depth)])


def test_command_writes_a_cost_that_loads(tmp_path, capsys):
    """The file holds the fit, its residuals and provenance, and is a cost by its name."""
    true = LinearCost(v0=0.01, spec=0.002, f0=0.001)
    traced(tmp_path / "mine.trace.parquet", np.random.default_rng(6), true)
    out = tmp_path / "cost.json"
    assert run(command, tmp_path, "--out", out) == 0
    shown = capsys.readouterr().out
    assert "not identifiable in these rounds, set to 0:" in shown and "R²" in shown
    file = read_cost_file(out)
    assert "mine.trace.parquet" in file.provenance and "context 1000..1299" in file.provenance
    assert [row.depth for row in file.residuals] == list(range(8)) and "f1" in file.not_identified
    load = Load(*(np.array([v]) for v in (2, 2_000, 2_000, 2_000)))
    assert load_cost(str(out)).seconds(load, np.arange(8)) == pytest.approx(
        true.seconds(load, np.arange(8)), rel=0.02
    )


def test_command_as_json(tmp_path, capsys):
    """``--format json`` prints the file's own content."""
    traced(tmp_path / "m.trace.parquet", np.random.default_rng(7), LinearCost(v0=0.01, f0=0.001))
    assert run(command, tmp_path, "--out", tmp_path / "c.json", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "c.json").read_text("utf-8"))


def test_command_without_times_is_one_line(tmp_path, capsys):
    """Traces without round times exit 2 with one line and write nothing."""
    write_trace(tmp_path / "m.trace.parquet", HEADER, [block([np.nan] * 30, [1] * 30)])
    assert run(command, tmp_path, "--out", tmp_path / "c.json") == 2
    error = capsys.readouterr().err
    assert error == "sim fit-cost: 0 timed rounds are usable, at least 20 are needed\n"
    assert not (tmp_path / "c.json").exists()


def test_command_cannot_write(tmp_path, capsys):
    """An unwritable target is one line."""
    traced(tmp_path / "m.trace.parquet", np.random.default_rng(8), LinearCost(v0=0.01))
    assert run(command, tmp_path, "--out", tmp_path / "no" / "c.json") == 2
    assert "c.json: cannot be written: No such file" in capsys.readouterr().err


def test_published_block_diffusion_rounds(foreign_data, tmp_path, capsys):
    """Recorded rounds with compile stalls of 13 s give the steady 11.9 ms of a round, whatever the
    stalls.
    """
    assert run(import_, foreign_data / "dflash", "--out", tmp_path) == 0
    assert run(command, tmp_path, "--out", tmp_path / "c.json") == 0
    assert "warm-up" in capsys.readouterr().out
    (row,) = read_cost_file(tmp_path / "c.json").residuals
    assert row.depth == 15 and row.measured_ms == pytest.approx(11.9, abs=0.1)
    assert abs(row.residual_percent) < 2
