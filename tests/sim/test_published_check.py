"""The shipped 1M sets through the cost presets, against the published acceptance figures."""

import pytest

from adaptive_depth.sim.published_acceptance import ANCHORS
from adaptive_depth.sim.published_check import SetFigures, worst
from adaptive_depth.sim.synth_files import SHIPPED, check_folder
from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.store import read_trace


@pytest.fixture(scope="module")
def rows():
    """Every figure of the shipped files."""
    return check_folder(SHIPPED)


def test_every_published_best_depth_is_reproduced(rows):
    """All 16 cells of the best-depth table have their minimum at the published depth."""
    best = [row for row in rows if row.quantity == "best_depth"]
    assert len(best) == 16
    assert [(row.trace_set, row.window, row.published) for row in best] == [
        (row.trace_set, row.window, row.synthetic) for row in best
    ]


def test_fitted_figures_are_within_their_scatter(rows):
    """No fitted figure is further off than single runs scatter, and half are within 3 %."""
    assert worst(rows) < 0.15
    close = [abs(row.residual) < 0.03 for row in rows if row.fitted and row.residual is not None]
    assert sum(close) >= len(close) / 2


def test_every_anchor_is_checked(rows):
    """Each published acceptance figure appears once, fitted or only compared as its sigma says."""
    seen = [
        (r.trace_set, r.quantity, r.window, r.depth, r.source) for r in rows if r.quantity != "best_depth"
    ]
    want = [(a.set_name, a.quantity, a.window, a.depth, a.source) for a in ANCHORS]
    assert sorted(seen) == sorted(want) and len(set(seen)) == len(seen)
    assert {r.fitted for r in rows if r.trace_set == "q35-niah-mq" and r.window == 8192} == {False}


def test_window_dose_response():
    """q35's needle task: 1K loses, 2K and 4K tie above full context, 8K lies between."""
    header, block = read_trace(SHIPPED / "q35-niah-mq.trace.parquet")
    figures = SetFigures("q35", header.windows, block.accepted, block.start)
    length = {window: figures.accept_length(window, 6) for window in header.windows}
    assert length[1024] < length[0] - 0.5
    assert length[2048] == pytest.approx(length[4032], rel=0.01)
    assert length[0] < length[8192] < length[4032]


def test_window_changes_few_decisions():
    """Most verdicts on the first draft survive the 4K window: published top-1 invariance is 86..94 %."""
    for name in ("q35-cwe", "q122-niah-mq", "nem-fwe"):
        header, block = read_trace(SHIPPED / f"{name}.trace.parquet")
        full, windowed = block.accepted[0], block.accepted[header.windows.index(4032)]
        assert 0.9 < ((full > 0) == (windowed > 0)).mean() < 0.995, name


def test_figures_are_plain_arithmetic():
    """Time per token is the preset's round over the accept length; gains are ratios of such times."""
    header, block = read_trace(SHIPPED / "q122-code-qa.trace.parquet")
    figures = SetFigures("q122", header.windows, block.accepted, block.start)
    assert figures.accept_length(0, 0) == 1.0
    assert figures.ms_per_token(0, 0) == pytest.approx(9.55, abs=0.05)
    (speedup,) = [a for a in ANCHORS if a.set_name == "q122-code-qa" and a.quantity == "speedup"]
    assert figures.figure(speedup) == figures.ms_per_token(0, 0) / figures.ms_per_token(0, 6)


def test_folder_without_sets_is_refused(tmp_path):
    """An empty folder is one clear error that says how to fill it."""
    with pytest.raises(ConfigError, match="sim synth --out"):
        check_folder(tmp_path)
