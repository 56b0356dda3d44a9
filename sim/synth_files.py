"""Synthetic traces as files: the published sets and the simple ones written, the shipped ones checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import adaptive_depth.traces
from adaptive_depth.sim.published_check import CheckRow, SetFigures, check_rows
from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.published_sets import (
    published_block,
    published_header,
    published_set,
    published_sets,
)
from adaptive_depth.traces.records import DenseBlock
from adaptive_depth.traces.store import SUFFIX, read_trace, write_trace
from adaptive_depth.traces.synth_simple import phases

#: Where a checkout of the repository holds the shipped sets; an installed wheel does not have them.
SHIPPED = Path(adaptive_depth.traces.__path__[0]) / "data" / "synthetic-1m"


def write_published(out: Path, names: Sequence[str], seed: int) -> Iterator[Path]:
    """Write the sets called ``names`` (``published``: all), yielding each file's path once it is there."""
    chosen = [published_set(name) for name in names if name != "published"]
    for one in published_sets() if "published" in names else chosen:
        path = out / f"{one.name}{SUFFIX}"
        write_trace(path, published_header(one, seed), [published_block(one, seed)])
        yield path


def parse_phases(text: str) -> list[tuple[int, float]]:
    """Phases as they are written on a command line.

    >>> parse_phases("1000:0,500:4.5")
    [(1000, 0.0), (500, 4.5)]
    """
    try:
        parts = [part.split(":") for part in text.split(",")]
        return [(int(tokens), float(mean)) for tokens, mean in parts]
    except ValueError:
        raise ConfigError(f"phases are written TOKENS:MEAN_ACCEPTED,..., got {text!r}") from None


def write_simple(out: Path, levels: list[tuple[int, float]], requests: int, k_max: int, seed: int) -> Path:
    """Write requests that pass through ``levels``, see :func:`~adaptive_depth.traces.synth_simple.phases`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    block = phases(rng, levels, requests=requests, k_max=k_max)
    label = "-".join(f"{mean:g}" for _, mean in levels)
    header = TraceHeader(
        kind="dense",
        origin="synthetic",
        trace_set=f"{'stationary' if len(levels) == 1 else 'phases'}-{label}",
        k_max=k_max,
        sampler="greedy",
        temperature=0.0,
        provenance=f"adaptive_depth.traces.synth_simple.phases({levels}), seed {seed}",
        licence="Apache-2.0",
    )
    path = out / f"{header.trace_set}{SUFFIX}"
    write_trace(path, header, [block])
    return path


def check_folder(folder: Path) -> list[CheckRow]:
    """Every published figure against the sets in ``folder``; :class:`ConfigError` where there is none."""
    rows: list[CheckRow] = []
    for one in published_sets():
        path = folder / f"{one.name}{SUFFIX}"
        if path.exists():
            header, block = read_trace(path)
            assert isinstance(block, DenseBlock), "a published set is dense"
            rows += check_rows(one.name, SetFigures(one.model, header.windows, block.accepted, block.start))
    if not rows:
        raise ConfigError(f"{folder} holds none of the 1M sets; make them with: sim synth --out {folder}")
    return rows
