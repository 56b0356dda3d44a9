"""The shipped synthetic 1M sets: labelled, sized, and regenerated bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.published_sets import (
    normal_scores,
    published_block,
    published_header,
    published_set,
    published_sets,
)
from adaptive_depth.traces.store import read_trace

SHIPPED = Path(__file__).parents[2] / "traces" / "data" / "synthetic-1m"
NAMES = [one.name for one in published_sets()]


@pytest.mark.parametrize("name", NAMES)
def test_shipped_file_regenerates_bit_for_bit(name):
    """Every array and every header field of a shipped file comes out of its parameters and seed again."""
    one = published_set(name)
    header, block = read_trace(SHIPPED / f"{name}.trace.parquet")
    again = published_block(one)
    assert header == published_header(one)
    assert block.request_id == again.request_id and block.workload == again.workload
    for field in ("accepted", "start", "context"):
        assert np.array_equal(getattr(block, field), getattr(again, field)), field


def test_nothing_but_the_sets_is_shipped():
    """The folder holds one file a set, 6 MB at most together."""
    files = sorted(path.name for path in SHIPPED.iterdir())
    assert files == sorted(f"{name}.trace.parquet" for name in NAMES)
    assert sum((SHIPPED / name).stat().st_size for name in files) < 6_000_000


@pytest.mark.parametrize("name", NAMES)
def test_sets_say_what_they_are(name):
    """Synthetic in the header, with seed, citation and licence; 64 requests or more at 1.04M context."""
    header, block = read_trace(SHIPPED / f"{name}.trace.parquet")
    assert header.origin == "synthetic" and header.licence == "Apache-2.0"
    assert "seed 1" in header.provenance and "Windowed-MTP" in header.provenance
    assert header.windows == (0, 1024, 2048, 4032, 8192) and header.sink == 64
    assert block.requests >= 64 and abs(block.context.mean() - 1_040_000) < 5_000
    assert block.output_tokens.min() >= 200 and block.output_tokens.max() == 512


def test_another_seed_is_another_draw():
    """The seed reaches the counts, the lengths and the contexts."""
    one = published_set("q35-vt")
    first, other = published_block(one), published_block(one, seed=2)
    assert first.output_tokens.tolist() != other.output_tokens.tolist()
    assert first.context.tolist() != other.context.tolist()
    assert first.accepted.mean() == pytest.approx(other.accepted.mean(), rel=0.03)


def test_unknown_set_names_the_nearest():
    """A misspelt set is refused with the name that was meant."""
    with pytest.raises(ConfigError, match="did you mean 'q122-cwe'"):
        published_set("q122-cew")


def test_normal_scores_have_no_sampling_noise():
    """Quantiles of the normal: symmetric, mean 0, spread close to 1."""
    scores = normal_scores(192)
    assert scores.mean() == pytest.approx(0, abs=1e-12)
    assert scores.std() == pytest.approx(1, abs=0.01)
