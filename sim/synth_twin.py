"""A synthetic twin of a trace: fit the generator, draw requests like the recorded ones, write them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from adaptive_depth.sim.synth_fit import Fit, fit, fit_windows
from adaptive_depth.sim.synth_target import Observation, Target, target_of
from adaptive_depth.traces.blocks import concat_blocks, empty_block, select_requests
from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.naming import safe
from adaptive_depth.traces.records import I64, Block, DenseBlock
from adaptive_depth.traces.store import SUFFIX, TraceReader, write_trace
from adaptive_depth.traces.synth import RequestPlan, SynthModel, WindowEffect, generate

#: Positions (or rounds) that are fitted to; of a larger trace a random sample of whole requests is taken.
FIT_SIZE = 250_000
#: Requests drawn at a time, so that memory does not grow with the number asked for.
BLOCK_REQUESTS = 256


@dataclass(frozen=True, slots=True)
class Twin:
    """A fitted twin before anything is drawn: its source, its model and the requests it resembles."""

    header: TraceHeader
    target: Target
    fitted: Fit
    model: SynthModel


def fit_file(path: str | os.PathLike[str], seed: int, report: Callable[[str], None]) -> Twin:
    """Fit the generator to a dense or rounds trace; ``report`` gets a line for each request that is unusable.

    :class:`ConfigError` where the file holds nothing to fit to.
    """
    reader = TraceReader(path)
    blocks = list(reader.blocks())
    for problem in reader.problems:
        report(str(problem))
    block = concat_blocks(blocks) if blocks else empty_block(reader.header)
    return fit_block(reader.header, block, np.random.Generator(np.random.PCG64([seed, 0])))


def fit_block(header: TraceHeader, block: Block, rng: np.random.Generator) -> Twin:
    """As :func:`fit_file`, for a block in memory."""
    if not header.ordered:
        raise ConfigError(f"the rounds of {header.trace_set} have lost their order: there is no drift to fit")
    block = _sample(block, rng)
    base = header.windows.index(0) if 0 in header.windows else 0
    target = target_of(block, header.k_max, base)
    fitted = fit(target, rng)
    model = replace(fitted.model, windows=(WindowEffect(window=header.windows[base]),))
    others = [row for row in range(len(header.windows)) if row != base]
    if isinstance(block, DenseBlock) and others:
        seen = [(header.windows[row], target_of(block, header.k_max, row).observed) for row in others]
        model = replace(model, windows=(*model.windows, *fit_windows(model, target, seen, rng)))
    return Twin(header, target, fitted, model)


def _sample(block: Block, rng: np.random.Generator) -> Block:
    """Random whole requests up to :data:`FIT_SIZE`, in their own order; small blocks as they are."""
    if block.start[-1] <= FIT_SIZE:
        return block
    order = rng.permutation(block.requests)
    kept = np.cumsum(np.diff(block.start)[order]) <= FIT_SIZE
    kept[0] = True
    return select_requests(block, np.sort(order[kept]))


def write_twin(twin: Twin, out: Path, requests: int | None, seed: int) -> Path:
    """Draw ``requests`` (None: as many as were fitted to), write ``<set>-twin`` and return its path."""
    count = len(twin.target.output_tokens) if requests is None else requests
    if count < 1:
        raise ConfigError("a synthetic trace needs at least one request")
    path = out / f"{safe(twin.header.trace_set)}-twin{SUFFIX}"  # a name may hold any path
    write_trace(path, twin_header(twin, seed), draw(twin, count, draw_rng(seed)))
    return path


def draw_rng(seed: int) -> np.random.Generator:
    """The generator that a twin is drawn with: not the one that it was fitted on."""
    return np.random.Generator(np.random.PCG64([seed, 1]))


def draw(twin: Twin, requests: int, rng: np.random.Generator) -> Iterator[DenseBlock]:
    """Draw blocks of requests, each with the length, context, task and level score of a recorded one."""
    rows = _rows(len(twin.target.output_tokens), requests, rng)
    for first in range(0, requests, BLOCK_REQUESTS):
        yield generate(rng, twin.model, _plan(twin, rows[first : first + BLOCK_REQUESTS], first))


def _rows(recorded: int, requests: int, rng: np.random.Generator) -> I64:
    """Every recorded request equally often, as far as the numbers allow; the rest without repeats."""
    whole, rest = divmod(requests, recorded)
    return np.concatenate(
        [np.tile(np.arange(recorded), whole), np.sort(rng.choice(recorded, rest, replace=False))]
    )


def _plan(twin: Twin, rows: I64, first: int) -> RequestPlan:
    name = twin.header.trace_set
    return RequestPlan(
        request_id=tuple(f"{name}-twin-{first + index:05d}" for index in range(len(rows))),
        workload=tuple(twin.target.workload[row] for row in rows.tolist()),
        context=twin.target.context[rows],
        output_tokens=twin.target.output_tokens[rows],
        score=twin.fitted.score[rows],
    )


def twin_header(twin: Twin, seed: int) -> TraceHeader:
    """The twin's header: synthetic, naming the trace it was fitted to and the parameters found."""
    source, model = twin.header, twin.model
    found = (
        f"level {model.level_sd:.3f}, drift {model.drift_sd:.3f}, memory {model.drift_memory:.3f}, "
        f"sharing {model.sharing:.3f}"
    )
    return source.model_copy(
        update={
            "kind": "dense",
            "origin": "synthetic",
            "trace_set": f"{source.trace_set}-twin",
            "k_max": model.k_max,
            "windows": tuple(effect.window for effect in model.windows),
            "provenance": f"sim synth --fit, seed {seed}; fitted to {source.trace_set} ({source.origin}, "
            f"{source.provenance})",
            "notes": found,
        }
    )


#: Names of the moments of an observation, in its order.
MOMENTS = (
    "autocorrelation pooled",
    "autocorrelation within",
    "autocorrelation pooled, lag 4",
    "p10 of requests / AL",
    "p90 of requests / AL",
    "chains that go on",
)


def compare(twin: Twin, seed: int) -> list[tuple[str, float, float]]:
    """Name, recorded and synthetic value of all that a twin shares with its trace (NaN: not measurable).

    The synthetic side is a fresh draw of as many requests as were fitted to: what :func:`write_twin`
    writes unless it is asked for another number.
    """
    wanted, shown = twin.target.observed, redrawn(twin, draw_rng(seed))
    moments = list(zip(MOMENTS, wanted.moments.tolist(), shown.moments.tolist(), strict=True))
    lengths = [
        (f"accept length at depth {depth + 1}", float(wanted.length[depth]), float(shown.length[depth]))
        for depth in np.flatnonzero(wanted.length > 1)
    ]
    return [*(lengths or [("accept length as played", _mean(wanted), _mean(shown))]), *moments]


def redrawn(twin: Twin, rng: np.random.Generator) -> Observation:
    """What a fresh draw of the fitted requests shows."""
    block = concat_blocks(draw(twin, len(twin.target.output_tokens), rng))
    return twin.target.observe(block.accepted[0], block.start)


def _mean(seen: Observation) -> float:
    return float(seen.rounds.accepted.mean()) + 1
