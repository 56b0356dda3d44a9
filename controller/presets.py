"""Cost presets: coefficients fitted to published rounds, one preset a model.

``sim costs`` prints what each is fitted to and how far it misses; a test fits again and compares. All
three are for one B200 (NVFP4 weights) and the paper's patch, which windows draft-extend too. A preset
prices the full context (window 0) and any window. Two limits: nothing below 261K context or above one
request is published, so shorter contexts and larger batches are extrapolated; and depth 0 is priced
without a drafter. For stock SGLang, whose extend reads the full context and whose 0 tier keeps the draft
KV warm, use ``dataclasses.replace(preset(name), extend_windowed=False, extend_at_zero=True)``.
"""

from __future__ import annotations

from adaptive_depth.policies.cost_model import LinearCost
from adaptive_depth.traces.errors import ConfigError, did_you_mean

PRESETS: dict[str, LinearCost] = {
    "q35-b200": LinearCost(
        v0=4.1117e-3,
        v1=1.3162e-4,
        v2=5.4563e-9,
        v3=3.1289e-10,
        spec=1.1943e-3,
        x1=2.7292e-4,
        x3=6.0302e-6,
        f0=4.3938e-4,
        f2=4.5962e-10,
        extend_windowed=True,
        extend_at_zero=False,
    ),
    "q122-b200": LinearCost(
        v0=1.4469e-3,
        v1=1.3843e-4,
        v2=7.6582e-9,
        v3=1.1870e-9,
        spec=1.2411e-3,
        x1=4.2874e-4,
        x3=6.6276e-6,
        f0=7.4105e-4,
        f2=3.1886e-10,
        extend_windowed=True,
        extend_at_zero=False,
    ),
    "nem-b200": LinearCost(
        v0=5.0541e-3,
        v1=4.2022e-4,
        v2=5.6003e-9,
        v3=5.3841e-10,
        x1=1.5903e-4,
        x3=5.1284e-6,
        f0=1.4393e-3,
        f2=4.3567e-10,
        extend_windowed=True,
        extend_at_zero=False,
    ),
}


#: Models the presets were fitted to.
MODELS = {"Qwen3.6-35B-A3B": "q35-b200", "Qwen3.5-122B-A10B": "q122-b200", "Nemotron-3-120B": "nem-b200"}
#: Shortest and longest context of the published rounds. Plain decoding was only published at the longest.
FITTED_CONTEXT = (261_000, 1_040_000)
#: Window and sink of the published rounds.
PAPER_WINDOW, PAPER_SINK = 4032, 64


def preset(name: str) -> LinearCost:
    """The preset called ``name``; :class:`ConfigError` names the nearest known one otherwise.

    >>> preset("q35-b200").extend_windowed
    True
    """
    if name not in PRESETS:
        raise ConfigError(f"unknown cost preset {name!r}{did_you_mean(name, PRESETS)}")
    return PRESETS[name]
