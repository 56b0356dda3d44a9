"""The synthetic 1M-context sets: parameters of each (model, task), and the block that they generate.

The parameters stand in ``published_sets.json``. They were fitted so that the sets reproduce what the
Windowed-MTP paper publishes about acceptance at 1.04M context (``sim synth --calibrate`` fits again,
``sim synth --check`` compares); what nobody publishes, the spread between requests and the drift inside
them, is borrowed from fits to recorded dense traces of code edit and summaries. No number in these sets
was recorded at 1M context.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from statistics import NormalDist
from typing import Any

import numpy as np

from adaptive_depth.traces.errors import ConfigError, did_you_mean
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import F64, DenseBlock
from adaptive_depth.traces.synth import RequestPlan, SynthModel, WindowEffect, generate

#: The seed of the shipped files.
SEED = 1
REQUESTS, K_MAX, SINK = 192, 10, 64
#: Output tokens: seven requests in ten reach the published limit, the rest end somewhere above the lower
#: figure.
SHORTEST, LONGEST, CUT_SHARE = 200, 512, 0.7
#: Prompt tokens, uniform: the published prompts hold 1.04M, and 1,048,576 less the output is the models'
#: limit.
CONTEXT_LOW, CONTEXT_HIGH = 1_032_000, 1_048_000

MODELS = {
    "q35": ("Qwen3.6-35B-A3B", "q35-b200"),
    "q122": ("Qwen3.5-122B-A10B", "q122-b200"),
    "nem": ("Nemotron-3-120B", "nem-b200"),
}
CITATION = (
    "synthetic: drawn from a model fitted to figures published for Windowed-MTP (1.04M-token prompts, "
    "one B200, NVFP4, sink 64); no request was recorded"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """Parameters of one set, as in the JSON file.

    The threshold is ``first`` for draft 1 and ``second + slope * (j - 2)`` for draft j, in probit
    units. A window ``(w, shift, changed)`` moves the thresholds of drafts 2 and deeper, and redraws a
    share of the tokens.
    """

    model: str
    task: str
    stream: int
    first: float
    second: float
    slope: float
    level_sd: float
    drift_sd: float
    drift_memory: float
    sharing: float
    windows: tuple[tuple[int, float, float], ...]

    @property
    def name(self) -> str:
        """``model-task``: the trace set's name and its file's stem."""
        return f"{self.model}-{self.task}"

    @property
    def preset(self) -> str:
        """The cost preset of the model."""
        return MODELS[self.model][1]

    def synth_model(self) -> SynthModel:
        """The generator's parameters, full context (window 0) first."""
        deeper = [self.second + self.slope * step for step in range(K_MAX - 1)]
        effects = [WindowEffect(window=w, shift=(0.0, shift), changed=c) for w, shift, c in self.windows]
        return SynthModel(
            thresholds=(self.first, *deeper),
            level_sd=self.level_sd,
            drift_sd=self.drift_sd,
            drift_memory=self.drift_memory,
            sharing=self.sharing,
            windows=(WindowEffect(window=0), *effects),
        )


def published_sets() -> tuple[PublishedSet, ...]:
    """Every set of the JSON file, in its order."""
    raw = json.loads(
        files("adaptive_depth.traces").joinpath("published_sets.json").read_text(encoding="utf-8")
    )
    return tuple(_parse(entry) for entry in raw["sets"])


def published_set(name: str) -> PublishedSet:
    """The set called ``name``; :class:`ConfigError` names the nearest known one otherwise.

    >>> published_set("q122-cwe").preset
    'q122-b200'
    """
    known = {one.name: one for one in published_sets()}
    if name not in known:
        raise ConfigError(f"unknown synthetic set {name!r}{did_you_mean(name, known)}")
    return known[name]


def _parse(entry: dict[str, Any]) -> PublishedSet:
    return PublishedSet(**{**entry, "windows": tuple(tuple(window) for window in entry["windows"])})


def published_block(one: PublishedSet, seed: int = SEED) -> DenseBlock:
    """Generate the set, the same arrays for the same seed."""
    rng = np.random.Generator(np.random.PCG64([seed, one.stream]))
    return generate(rng, one.synth_model(), published_plan(rng, one))


def published_plan(rng: np.random.Generator, one: PublishedSet) -> RequestPlan:
    """Draw the requests of a set: output tokens, prompt tokens and level scores."""
    length = np.where(
        rng.random(REQUESTS) < CUT_SHARE, LONGEST, rng.integers(SHORTEST, LONGEST, REQUESTS, dtype=np.int64)
    )
    return RequestPlan(
        request_id=tuple(f"{one.name}-{index:03d}" for index in range(REQUESTS)),
        workload=(one.task,) * REQUESTS,
        context=rng.integers(CONTEXT_LOW, CONTEXT_HIGH, REQUESTS, dtype=np.int64),
        output_tokens=length,
        score=rng.permutation(normal_scores(REQUESTS)),
    )


def normal_scores(count: int) -> F64:
    """The normal's quantiles at the middles of ``count`` equal slices: a spread without sampling noise.

    >>> normal_scores(3).round(2).tolist()
    [-0.97, 0.0, 0.97]
    """
    normal = NormalDist()
    return np.array([normal.inv_cdf((index + 0.5) / count) for index in range(count)])


def published_header(one: PublishedSet, seed: int = SEED) -> TraceHeader:
    """The header of a set's file: synthetic, with its generator, seed and citation."""
    return TraceHeader(
        kind="dense",
        origin="synthetic",
        trace_set=one.name,
        k_max=K_MAX,
        windows=(0, *(window for window, _, _ in one.windows)),
        sink=SINK,
        model=MODELS[one.model][0],
        drafter="built-in MTP",
        engine="none",
        hardware="B200 (figures fitted to)",
        sampler="greedy",
        temperature=0.0,
        provenance=f"adaptive_depth.traces.published_sets, seed {seed}, stream {one.stream}; {CITATION}",
        licence="Apache-2.0",
        notes=f"first {one.first} second {one.second} slope {one.slope} windows {list(one.windows)}",
    )
