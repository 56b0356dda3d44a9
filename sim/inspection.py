"""What an inspection of a trace finds, as frozen records; ``None`` always means unknown."""

from __future__ import annotations

from dataclasses import dataclass

from adaptive_depth.sim.round_tally import PositionAcceptance, RoundStatistics


@dataclass(frozen=True, slots=True)
class FixedDepth:
    """The rounds of a dense trace when every round drafts ``depth``."""

    depth: int
    statistics: RoundStatistics
    #: Share of rounds whose whole chain was accepted.
    at_cap: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """Rounds that share a context band, workload, window or depth."""

    name: str
    requests: int
    rounds: int
    tokens: int
    accept_length: float | None


@dataclass(frozen=True, slots=True)
class WindowResponse:
    """A recorded draft window of a dense trace, at the trace's own cap."""

    window: int
    rounds: int
    accept_length: float | None
    #: Share of positions whose accepted count differs from full context; ``None`` if that was not recorded.
    changed: float | None


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Positions whose first draft had a confidence in [low, high); the last bin includes 1."""

    low: float
    high: float
    positions: int
    confidence: float | None
    accepted: float | None


@dataclass(frozen=True, slots=True)
class DenseFindings:
    """A dense trace. Groups and positions are of the reference window and, where rounds count, depth."""

    positions: int
    reference_depth: int
    reference_window: int
    at_fixed_depth: tuple[FixedDepth, ...]
    #: Over all positions: every one starts a chain.
    acceptance: tuple[PositionAcceptance, ...]
    #: Share of positions whose whole chain of the reference depth was accepted.
    at_cap: float | None
    by_window: tuple[WindowResponse, ...]
    by_context: tuple[Group, ...]
    by_workload: tuple[Group, ...]
    #: Empty without recorded confidence.
    calibration: tuple[CalibrationBin, ...]
    #: Share of positions inside a repetition loop.
    looping: float | None


@dataclass(frozen=True, slots=True)
class RoundsFindings:
    """Rounds as they were played; accept length is the mean of accepted + 1 over rounds."""

    output_tokens: int
    statistics: RoundStatistics
    #: Rounds whose depth the source gave; only they count by position and at the cap.
    rounds_of_known_depth: int
    rounds_with_seconds: int
    #: Rounds by accepted drafts 0, 1, ..., whatever their depth.
    accepted_histogram: tuple[int, ...]
    acceptance: tuple[PositionAcceptance, ...]
    at_cap: float | None
    by_depth: tuple[Group, ...]
    by_window: tuple[Group, ...]
    by_context: tuple[Group, ...]
    by_workload: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class IntervalGroup:
    """Log intervals that share a depth or context band; means are over intervals."""

    name: str
    intervals: int
    accept_length_mean: float | None
    tokens_per_second_mean: float | None


@dataclass(frozen=True, slots=True)
class IntervalsFindings:
    """Averages over log intervals."""

    intervals: int
    #: Intervals with an accept length.
    speculating: int
    #: Over rounds, from the intervals that count drafts and know their depth.
    rounds: int | None
    accept_length: float | None
    #: Over intervals, each weighing the same.
    accept_length_mean: float | None
    accept_length_p10: float | None
    accept_length_p90: float | None
    tokens_per_second_median: float | None
    #: Marginal acceptance by position, mean over intervals that log it.
    acceptance: tuple[float | None, ...]
    by_depth: tuple[IntervalGroup, ...]
    by_context: tuple[IntervalGroup, ...]


Findings = DenseFindings | RoundsFindings | IntervalsFindings


@dataclass(frozen=True, slots=True)
class Inspection:
    """One trace: usable requests (log streams for intervals) and what they hold."""

    requests: int
    findings: Findings
