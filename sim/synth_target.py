"""What a twin must share with a trace: acceptance by position, serial correlation, request spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.sim.fixed_depth import round_starts
from adaptive_depth.sim.round_tally import AcceptanceTally, RoundTally
from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.records import F64, I8, I32, I64, Block, DenseBlock, RoundsBlock

#: Fixed depths whose rounds a dense twin is fitted to, besides its chain cap.
LADDER = (1, 2, 3, 5, 7)
#: Rounds between the two of a pair in the slow correlation, which tells lasting drift from a passing one.
THIN = 4


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of several requests in order: ``start[R+1]`` offsets, ``depth[M]`` drafted, ``accepted[M]``."""

    start: I64
    depth: I32
    accepted: I32


@dataclass(frozen=True, slots=True)
class Observation:
    """One measurement of a trace.

    ``conditional[K]`` is acceptance by position among the ``reached[K]`` drafts, ``length[K]`` the
    accept length at that depth (1 where it was not played). ``moments`` are the pooled and
    within-request lag-1 correlation, the pooled lag-4 one, p10 and p90 of the accept length per request
    over the accept length, and the share of chains that go on where the chain one token before went on;
    NaN where it cannot be measured.
    """

    conditional: F64
    length: F64
    reached: F64
    moments: F64
    rounds: Rounds  # the deepest play
    counts: I8 | None = None  # [N] of a dense trace


@dataclass(frozen=True, slots=True)
class Target:
    """A recorded trace made ready for fitting: its requests, its observation, and how to observe a twin."""

    dense: bool
    k_max: int
    context: I64  # [R]
    output_tokens: I64  # [R]
    workload: tuple[str, ...]
    observed: Observation
    observe: Callable[[I8, I64], Observation]


def target_of(block: Block, k_max: int, row: int = 0) -> Target:
    """Prepare ``block`` (window ``row`` of a dense one); :class:`ConfigError` where it holds nothing."""
    if isinstance(block, DenseBlock):
        return _dense_target(block, k_max, row)
    if isinstance(block, RoundsBlock):
        return _rounds_target(block)
    raise ConfigError("a log of interval averages holds no rounds to fit a synthetic trace to")


def _dense_target(block: DenseBlock, k_max: int, row: int) -> Target:
    accepted = block.accepted[row]
    if not len(accepted):
        raise ConfigError("the trace holds no positions to fit to")
    if k_max < 1:
        raise ConfigError("the trace holds no drafts to fit to: its chains are capped at 0")

    def observe(counts: I8, start: I64) -> Observation:
        return observe_dense(counts, start, k_max)

    seen = observe(accepted, block.start)
    return Target(True, k_max, block.context, block.output_tokens, block.workload, seen, observe)


def _rounds_target(block: RoundsBlock) -> Target:
    """Rounds of unknown depth are taken as drafted to the deepest count anywhere in the trace."""
    if not len(block.accepted):
        raise ConfigError("the trace holds no rounds to fit to")
    deepest = int(max(block.accepted.max(), block.depth.max()))
    if deepest < 1:
        raise ConfigError("the trace holds no drafted rounds to fit to")
    depth = np.where(block.depth < 0, deepest, block.depth).astype(np.int32)
    recorded = Rounds(block.start, depth, block.accepted)

    def observe(counts: I8, start: I64) -> Observation:
        return observe_rounds(play_schedule(counts, start, recorded), deepest)

    tokens = np.maximum(block.output_tokens, 1)
    seen = observe_rounds(recorded, deepest)
    return Target(False, deepest, block.context, tokens, block.workload, seen, observe)


def observe_dense(accepted: I8, start: I64, k_max: int) -> Observation:
    """Observe dense counts ``accepted[N]`` along the rounds of a few fixed depths, and of ``k_max``.

    Acceptance at a position is taken from the shallowest of these depths that reaches it.
    """
    depths = [depth for depth in LADDER if depth <= k_max]
    ladder = [play_fixed(accepted, start, depth) for depth in depths]
    deep = play_fixed(accepted, start, k_max) if k_max > depths[-1] else ladder[-1]
    conditional, reached = conditional_acceptance(deep, k_max)
    length = np.ones(k_max)
    for depth, play in reversed(list(zip(depths, ladder, strict=True))):
        conditional[:depth] = conditional_acceptance(play, k_max)[0][:depth]
        length[depth - 1] = len(accepted) / len(play.depth)
    moments = _moments(ladder[-1])
    moments[-1] = run_down(accepted, start, depths[-1])
    return Observation(conditional, length, reached, moments, deep, accepted)


def conditional_acceptance(rounds: Rounds, k_max: int) -> tuple[F64, F64]:
    """Share of drafts accepted by position, half a draft added to either side, and how many were reached."""
    tally = AcceptanceTally()
    tally.add(rounds.depth, rounds.accepted)
    reached, passed = np.zeros(k_max), np.zeros(k_max)
    for row in tally.result():
        reached[row.position - 1], passed[row.position - 1] = row.reached, row.accepted
    return (passed + 0.5) / (reached + 1.0), reached


def play_fixed(accepted: I8, start: I64, depth: int) -> Rounds:
    """The rounds that fixed ``depth`` plays on dense counts."""
    at = round_starts(accepted, start, depth)
    played = np.minimum(accepted[at], depth).astype(np.int32)
    return Rounds(np.searchsorted(at, start), np.full(len(at), depth, np.int32), played)


def play_schedule(accepted: I8, start: I64, recorded: Rounds) -> Rounds:
    """The rounds when request r repeats the depths of recorded request r, cycling where it needs more.

    Where there are more requests than recorded ones, these are taken in turn.
    """
    model = np.arange(len(start) - 1) % (len(recorded.start) - 1)
    first, count = recorded.start[model], np.diff(recorded.start)[model]
    lanes = np.flatnonzero((np.diff(start) > 0) & (count > 0))
    first, count = first[lanes], count[lanes]
    position, turn = start[lanes].copy(), 0
    rows: list[npt.NDArray[np.intp]] = []
    depths: list[I32] = []
    counts: list[I32] = []
    while len(lanes):
        depth = recorded.depth[first + turn % count]
        played = np.minimum(accepted[position], depth).astype(np.int32)
        rows.append(lanes)
        depths.append(depth)
        counts.append(played)
        position, turn = position + played + 1, turn + 1
        going = position < start[lanes + 1]
        lanes, first, count, position = lanes[going], first[going], count[going], position[going]
    return _gather(rows, depths, counts, len(start) - 1)


def _gather(rows: list[npt.NDArray[np.intp]], depths: list[I32], counts: list[I32], requests: int) -> Rounds:
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    start = np.searchsorted(row[order], np.arange(requests + 1))
    return Rounds(start, np.concatenate(depths)[order], np.concatenate(counts)[order])


def observe_rounds(rounds: Rounds, k_max: int) -> Observation:
    """Observe rounds as they were played, whatever their depths."""
    conditional, reached = conditional_acceptance(rounds, k_max)
    return Observation(conditional, np.ones(k_max), reached, _moments(rounds), rounds)


def _moments(rounds: Rounds) -> F64:
    tokens = rounds.accepted + 1
    near, slow = RoundTally(), RoundTally()
    near.add(tokens, rounds.start)
    slow.add(*_every(THIN, tokens, rounds.start))
    one, many = near.result(), slow.result()
    length = one.accept_length or 1.0
    values = (
        one.autocorrelation_pooled,
        one.autocorrelation_within,
        many.autocorrelation_pooled,
        None if one.request_mean_p10 is None else one.request_mean_p10 / length,
        None if one.request_mean_p90 is None else one.request_mean_p90 / length,
        None,
    )
    return np.array([np.nan if value is None else value for value in values])


def _every(step: int, values: npt.NDArray[np.int32], start: I64) -> tuple[npt.NDArray[np.int32], I64]:
    """Every ``step``-th round of each request, counted from its first, with new offsets."""
    index = np.arange(len(values)) - np.repeat(start[:-1], np.diff(start))
    kept = index % step == 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return values[kept], before[start]


def run_down(accepted: I8, start: I64, deepest: int = LADDER[-1]) -> float:
    """P(next count >= a - 1 | count = a), over neighbouring positions with 2 <= a <= ``deepest``.

    1 where a chain goes on wherever the chain one token before went on, as it does when difficulty belongs to
    tokens alone; NaN where no such pair exists.
    """
    here, following = accepted[:-1], accepted[1:]
    inside = np.ones(len(accepted), np.bool_)
    inside[start[1:][np.diff(start) > 0] - 1] = False
    pair = inside[:-1] & (here >= 2) & (here <= deepest)
    return float((following[pair] >= here[pair] - 1).mean()) if pair.any() else float("nan")
