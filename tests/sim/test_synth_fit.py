"""A twin fitted to a trace has its accept lengths, both of its correlations and its spread of requests."""

from dataclasses import replace

import numpy as np
import pytest

from adaptive_depth.sim.import_folder import import_all
from adaptive_depth.sim.synth_target import Rounds, play_fixed, play_schedule, run_down, target_of
from adaptive_depth.sim.synth_twin import compare, draw, draw_rng, fit_block, fit_file, redrawn, twin_header
from adaptive_depth.traces.blocks import empty_block
from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import RoundsBlock
from adaptive_depth.traces.synth import RequestPlan, SynthModel, WindowEffect, generate
from adaptive_depth.traces.synth_simple import all_accepted, none_accepted, stationary

POOLED, WITHIN, LOW, HIGH = 0, 1, 3, 4
#: The tables of the public sets' correlations, pooled and within request, and their accept lengths by depth.
DENSE = {
    "cnn-eagle": (0.13, 0.10, {1: 1.673, 2: 2.081, 3: 2.325, 5: 2.573, 7: 2.689}),
    "instructcoder-eagle": (0.39, 0.24, {1: 1.679, 2: 2.091, 3: 2.343, 5: 2.619, 7: 2.753}),
    "instructcoder-ngram": (None, None, {1: 1.509, 2: 1.823, 3: 2.028, 5: 2.289, 7: 2.447}),
}


def header(k_max=7, windows=(0,), kind="dense", **more):
    return TraceHeader(kind=kind, origin="recorded", trace_set="demo", k_max=k_max, windows=windows, **more)


def made(requests=120, tokens=300, seed=9, **changes):
    """A block drawn from a known model."""
    model = SynthModel(
        thresholds=(0.7, 0.5, 0.5, 0.4, 0.4, 0.4, 0.4),
        level_sd=0.3,
        drift_sd=0.6,
        drift_memory=0.95,
    )
    rng = np.random.default_rng(seed)
    names = tuple(f"r{index}" for index in range(requests))
    plan = RequestPlan(
        request_id=names,
        workload=names,
        context=np.full(requests, 1000),
        output_tokens=np.full(requests, tokens),
        score=rng.standard_normal(requests),
    )
    return generate(rng, replace(model, **changes), plan)


def played(block, depth_of):
    """The rounds trace that a dense block gives when round i of every request drafts ``depth_of(i)``."""
    position, depth, accepted, start = [], [], [], [0]
    for lo, hi in zip(block.start[:-1], block.start[1:], strict=True):
        at, turn = int(lo), 0
        while at < hi:
            drafted = depth_of(turn)
            position.append(at - lo)
            depth.append(drafted)
            accepted.append(min(int(block.accepted[0, at]), drafted))
            at, turn = at + accepted[-1] + 1, turn + 1
        start.append(len(depth))
    flat = [np.array(values, np.int32) for values in (position, depth, accepted)]
    zeros = np.zeros(len(depth), np.int32)
    return RoundsBlock(
        request_id=block.request_id,
        workload=block.workload,
        stop_reason=block.stop_reason,
        context=np.full(block.requests, -1),
        output_tokens=block.output_tokens,
        start=np.array(start),
        position=flat[0],
        depth=flat[1],
        window=zeros,
        accepted=flat[2],
        emitted=flat[2] + 1,
        seconds=np.full(len(depth), np.nan),
        batch=zeros - 1,
    )


def agree(twin, draws=1):
    """Fresh draws of the twin against its trace: correlations within 0.05, accept length within 3 %.

    Several draws are averaged where the trace is small: their own luck is not what is tested.
    """
    wanted = twin.target.observed
    shown = [redrawn(twin, np.random.default_rng(seed)) for seed in range(draws)]
    moments = np.mean([seen.moments for seen in shown], axis=0)
    assert moments[:2] == pytest.approx(wanted.moments[:2], abs=0.05)
    assert np.mean([seen.length for seen in shown], axis=0) == pytest.approx(wanted.length, rel=0.03)
    if not twin.target.dense:
        mean = np.mean([seen.rounds.accepted.mean() for seen in shown])
        assert 1 + mean == pytest.approx(1 + wanted.rounds.accepted.mean(), rel=0.03)
    return wanted.moments, moments


@pytest.fixture(scope="module")
def imported(foreign_data, tmp_path_factory):
    """The public dense sets and a Spec-Bench file as trace files."""
    out = tmp_path_factory.mktemp("imported")
    bench = foreign_data / "spec_bench" / "vicuna-7b-v1.3-eagle-float16-temperature-0.0.jsonl"
    report = import_all([foreign_data / "dense", bench], out, lambda problem, skipped: None)
    return {one.header.trace_set: one.path for one in report.sets}


@pytest.mark.parametrize("name", DENSE)
def test_twin_of_a_public_dense_set(imported, name):
    """Both correlations within 0.05, accept length by depth within 3 %, spread of requests roughly."""
    pooled, within, lengths = DENSE[name]
    (path,) = [path for key, path in imported.items() if key.endswith(name)]
    twin = fit_file(path, 1, print)
    wanted, shown = agree(twin)
    if pooled is not None:
        assert wanted[[POOLED, WITHIN]] == pytest.approx([pooled, within], abs=0.01)
        assert shown[[POOLED, WITHIN]] == pytest.approx([pooled, within], abs=0.055)
    assert {k: twin.target.observed.length[k - 1] for k in lengths} == pytest.approx(lengths, abs=0.001)
    assert shown[[LOW, HIGH]] == pytest.approx(wanted[[LOW, HIGH]], abs=0.2)


def test_twin_of_spec_bench_rounds(imported):
    """Rounds at an unknown fixed depth: .24 pooled, .11 within, p10 / p90 of requests 2.80 / 4.18."""
    (path,) = [path for key, path in imported.items() if "vicuna" in key]
    twin = fit_file(path, 1, print)
    wanted, shown = agree(twin)
    assert wanted[[POOLED, WITHIN]] == pytest.approx([0.24, 0.11], abs=0.01)
    mean = 1 + twin.target.observed.rounds.accepted.mean()
    assert shown[[LOW, HIGH]] * mean == pytest.approx([2.80, 4.18], abs=0.25)


def test_known_model_is_found_again():
    """Fitting to a draw of the generator gives its figures back, and its sharing and drift roughly."""
    twin = fit_block(header(), made(sharing=0.9), np.random.default_rng(1))
    wanted, shown = agree(twin, draws=6)
    assert twin.model.sharing == pytest.approx(0.9, abs=0.06)
    assert twin.model.drift_sd == pytest.approx(0.6, abs=0.25)
    assert shown[-1] == pytest.approx(wanted[-1], abs=0.04)


def test_drift_and_levels_are_told_apart():
    """A trace of levels without drift and one of drift without levels give twins with the same difference."""
    level = fit_block(header(), made(level_sd=0.6, drift_sd=0.0), np.random.default_rng(1))
    drift = fit_block(header(), made(level_sd=0.0, drift_sd=0.8), np.random.default_rng(1))
    of_level, of_drift = (agree(twin, draws=6)[1] for twin in (level, drift))
    assert of_level[POOLED] - of_level[WITHIN] > 0.2 and of_level[WITHIN] < 0.05
    assert of_drift[WITHIN] > 0.2 and of_drift[POOLED] - of_drift[WITHIN] < 0.1


def test_rounds_of_changing_depth():
    """An adaptive run is fitted at the depths it played: its twin repeats them and shows the same rounds."""
    block = played(made(), lambda turn: (1, 3, 7, 0, 5)[turn // 4 % 5])
    agree(fit_block(header(kind="rounds"), block, np.random.default_rng(1)), draws=6)


def test_schedule_repeats_recorded_depths():
    """Round i of request r drafts what recorded round i drafted, cycling; no rounds, none played."""
    recorded = Rounds(np.array([0, 2, 2]), np.array([1, 2], np.int32), np.zeros(2, np.int32))
    counts, start = np.full(9, 5, np.int8), np.array([0, 7, 9])
    rounds = play_schedule(counts, start, recorded)
    assert rounds.depth.tolist() == [1, 2, 1] and rounds.accepted.tolist() == [1, 2, 1]
    assert rounds.start.tolist() == [0, 3, 3]
    fixed = Rounds(np.array([0, 1, 2]), np.array([2, 2], np.int32), np.zeros(2, np.int32))
    again = play_fixed(made(2, 50).accepted[0], np.array([0, 50, 100]), 2)
    same = play_schedule(made(2, 50).accepted[0], np.array([0, 50, 100]), fixed)
    assert same.accepted.tolist() == again.accepted.tolist() and same.start.tolist() == again.start.tolist()


def test_run_down_counts_neighbours_of_one_request():
    """Only pairs inside a request count, and only chains of two or more."""
    counts = np.array([3, 2, 1, 0, 3, 0, 2, 1], np.int8)
    assert run_down(counts, np.array([0, 4, 6, 8])) == pytest.approx(3 / 4)
    assert np.isnan(run_down(np.zeros(3, np.int8), np.array([0, 3])))


def test_recorded_windows_are_fitted_too():
    """The twin has every recorded window, with its accept length and its share of changed positions."""
    effects = [
        WindowEffect(window=0),
        WindowEffect(window=64, shift=(0.0, -0.4), changed=0.05),
        WindowEffect(window=512, changed=0.1),
    ]
    block = made(windows=tuple(effects))
    twin = fit_block(header(windows=(0, 64, 512)), block, np.random.default_rng(1))
    assert twin_header(twin, 1).windows == (0, 64, 512)
    (drawn,) = draw(twin, block.requests, np.random.default_rng(2))
    for row in (1, 2):
        gain = [length(b, row) / length(b, 0) for b in (block, drawn)]
        changed = [(b.accepted[row] != b.accepted[0]).mean() for b in (block, drawn)]
        assert gain[1] == pytest.approx(gain[0], abs=0.03)
        assert changed[1] == pytest.approx(changed[0], rel=0.3)


def length(block, row):
    return block.accepted.shape[1] / len(play_fixed(block.accepted[row], block.start, 7).depth)


@pytest.fixture(scope="module")
def small_twin():
    """A twin of twenty requests."""
    source = header(licence="CC-BY-4.0", model="m", provenance="a.jsonl")
    return fit_block(source, made(20, 60), np.random.default_rng(1))


def test_single_window_keeps_its_name():
    """A trace recorded only under a window gives a twin of that window, not of the full context."""
    twin = fit_block(header(windows=(4032,)), made(20, 60), np.random.default_rng(1))
    assert twin_header(twin, 1).windows == (4032,)


@pytest.mark.parametrize(
    "block",
    [
        none_accepted(requests=3, tokens=40),
        all_accepted(requests=3, tokens=40),
        stationary(np.random.default_rng(1), requests=1, tokens=30),
        stationary(np.random.default_rng(1), requests=1, tokens=1),
    ],
    ids=["none accepted", "all accepted", "one request", "one token"],
)
def test_degenerate_traces_have_twins(block):
    """Nothing to correlate is no error: the twin keeps the accept length where there is enough to tell it."""
    twin = fit_block(header(), block, np.random.default_rng(1))
    (drawn,) = draw(twin, 50, np.random.default_rng(2))
    assert drawn.requests == 50
    if block.requests > 1:
        assert drawn.accepted.mean() == pytest.approx(block.accepted.mean(), abs=0.6)


def test_chain_of_one_draft():
    """A chain cap of 1 is fitted like any other."""
    block = stationary(np.random.default_rng(1), k_max=1, mean_accepted=0.5)
    agree(fit_block(header(k_max=1), block, np.random.default_rng(1)))


def test_what_cannot_be_fitted_is_refused():
    """Intervals, lost order, no positions and rounds without drafts are named errors."""
    nothing = replace(made(1, 1), start=np.zeros(2, np.int64), accepted=np.zeros((1, 0), np.int8))
    for head, block, reason in (
        (header(kind="intervals"), empty_block(header(kind="intervals")), "interval"),
        (header(ordered=False), made(2, 20), "order"),
        (header(), nothing, "no positions"),
        (header(kind="rounds"), empty_block(header(kind="rounds")), "no rounds"),
        (header(kind="rounds"), played(made(2, 20), lambda turn: 0), "no drafted rounds"),
    ):
        with pytest.raises(ConfigError, match=reason):
            fit_block(head, block, np.random.default_rng(1))


def test_draw_uses_every_request_equally_often(small_twin):
    """Asking for 2.5 times the requests repeats each twice and half of them once more; ids stay distinct."""
    blocks = list(draw(small_twin, 50, np.random.default_rng(2)))
    names = [name for block in blocks for name in block.workload]
    assert sorted(names.count(f"r{index}") for index in range(20)) == [2] * 10 + [3] * 10
    assert len({name for block in blocks for name in block.request_id}) == 50


def test_twin_says_what_it_is(small_twin):
    """Its header is synthetic and names trace, seed and parameters; the comparison names each figure."""
    twin = small_twin
    head = twin_header(twin, 7)
    assert (head.origin, head.kind, head.trace_set) == ("synthetic", "dense", "demo-twin")
    assert "seed 7" in head.provenance and "a.jsonl" in head.provenance and "level" in head.notes
    assert (head.licence, head.model, head.k_max) == ("CC-BY-4.0", "m", 7)
    names = [name for name, _, _ in compare(twin, 7)]
    assert "accept length at depth 7" in names and "autocorrelation within" in names


def test_same_seed_same_twin(small_twin):
    """Fit and draw are functions of the seed."""
    twins = [small_twin, fit_block(small_twin.header, made(20, 60), np.random.default_rng(1))]
    assert twins[0].model == twins[1].model
    (first,), (again,) = (draw(twin, 20, draw_rng(1)) for twin in twins)
    assert (first.accepted == again.accepted).all()


def test_target_keeps_requests_as_they_are():
    """Lengths, contexts and tasks of the target are the trace's own."""
    block = made(5, 30)
    target = target_of(block, 7)
    assert target.output_tokens.tolist() == [30] * 5 and target.workload == block.workload
