"""The outcome of ``sim replay``: the rows of the JSON contract and what the pictures need besides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

#: Name and version of the JSON contract.
REPORT_SCHEMA = "adaptive-depth-replay/1"

Evidence = Literal["exact", "modelled", "unsupported"]
#: ``ladder``: one static depth; ``hindsight``: needs the future; ``policy``: could run in the server;
#: ``played``: what the trace itself did.
Role = Literal["ladder", "hindsight", "policy", "played"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """One policy on one trace set at one cost; ratios are fractions (0.013 = +1.3 %), None where undefined.

    ``ci95`` is the interval of ``vs_best_static`` by resampling requests. ``gap_closed`` is (rate - best
    static) / (clairvoyant - best static). ``coverage`` is the share of rounds (or positions) on which the
    trace itself holds what the row needed.
    """

    trace_set: str
    origin: str
    cost: str
    context: int
    batch: int
    lag: int
    policy: str
    requests: int
    rounds: int
    tokens: int
    seconds: float | None
    tokens_per_second: float | None
    ms_per_token: float | None
    accept_length: float | None
    mean_depth: float | None
    depth_histogram: dict[int, int]
    window_histogram: dict[int, int]
    switches_per_1000: float | None
    vs_best_static: float | None
    vs_best_static_per_request: float | None
    vs_clairvoyant: float | None
    gap_closed: float | None
    speedup_vs_no_spec: float | None
    ci95: tuple[float, float] | None
    evidence: Evidence
    coverage: float
    role: Role
    lanes: int
    #: Why a row is unsupported, or what is assumed; empty where there is nothing to say.
    note: str = ""


@dataclass(frozen=True, slots=True)
class RequestPath:
    """Depth decisions over one request: (position, depth, window, accepted) by round."""

    policy: str
    request: str
    position: list[int]
    depth: list[int]
    window: list[int]
    accepted: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPictures:
    """What the report draws for one trace set and cost, besides its rows."""

    trace_set: str
    origin: str
    evidence: Evidence
    windows: list[int]
    #: Tokens/s of static depths: window -> [(depth, tokens/s)].
    ladder: dict[int, list[tuple[int, float]]]
    #: Marginal acceptance by chain position (1-based), window -> S_1..S_K over all positions of the trace.
    marginal: dict[int, list[float]]
    #: Conditional acceptance by chain position, window -> h_1..h_K.
    conditional: dict[int, list[float]]
    paths: list[RequestPath]
    #: Seconds of a round of one request at the set's mean context: window -> [(depth, seconds)].
    round_seconds: dict[int, list[tuple[int, float]]]
    #: The cost of the rows it belongs to; empty where the report has only one.
    cost: str = ""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Everything one ``sim replay`` found."""

    rows: list[ReplayRow]
    pictures: list[SetPictures] = field(default_factory=list)
    schema: str = REPORT_SCHEMA
