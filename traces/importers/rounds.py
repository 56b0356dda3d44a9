"""From accepted counts to rounds: what each round committed, and blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from adaptive_depth.traces.blocks import offsets
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Piece, Rejected
from adaptive_depth.traces.importers.fields import DEEPEST, ROUNDS_LIMIT
from adaptive_depth.traces.records import F64, I32, I64, UNKNOWN, RoundsBlock

_BLOCK_ROUNDS, _BLOCK_REQUESTS = 1 << 17, 512


@dataclass(frozen=True, slots=True)
class Rounds:
    """One request as a list of rounds; ``accepted`` excludes the bonus."""

    request_id: str
    accepted: I64  # [M]
    position: I64  # [M]
    emitted: I64  # [M]
    output_tokens: int
    workload: str = "unknown"
    stop_reason: str = "unknown"
    context: int = UNKNOWN
    depth: I64 | int = UNKNOWN
    window: I64 | int = 0
    seconds: F64 | float = float("nan")
    batch: I64 | int = UNKNOWN


def commit(accepted: I64, output_tokens: int | None, turns: int = 1) -> tuple[I64, I64, int]:
    """Positions, emitted tokens and output tokens of a request's rounds.

    A round commits ``accepted + 1`` tokens, less what a stop cuts off at the end: the verified count stays
    whole and the emitted one is clipped. Engines that sample the first token in prefill have one output token
    more than the rounds commit; the first round then starts at position 1. One round may lie wholly behind
    the stop: it was in flight when the end was seen. More than that, or more tokens than the rounds can
    commit, raises :class:`Rejected`. ``turns`` prompts may share the list.
    """
    if len(accepted) > ROUNDS_LIMIT:
        raise Rejected(f"{len(accepted):,} rounds; the limit of one request is {ROUNDS_LIMIT:,}")
    through = np.cumsum(accepted + 1)
    total = int(through[-1])
    output = total if output_tokens is None else output_tokens
    if output > total + turns:
        raise Rejected(f"{output} output tokens, but the rounds commit {total} at most")
    lead = max(0, output - total)
    ends = np.minimum(through + lead, output)
    position = np.concatenate([[lead], ends[:-1]])
    emitted = ends - position
    if (idle := int((emitted == 0).sum())) > turns:
        raise Rejected(f"{idle} rounds lie behind the last of {output} output tokens")
    return position, emitted, output


@dataclass(slots=True)
class RoundsBuilder:
    """Collect requests of one trace set; yields a piece whenever enough rounds are waiting."""

    header: TraceHeader
    _waiting: list[Rounds] = field(default_factory=list)
    _count: int = 0
    _deepest: int = 0

    def add(self, request: Rounds) -> Iterator[Piece]:
        """Queue a request; refuse one that accepts more than it drafted."""
        depth = np.broadcast_to(np.asarray(request.depth), request.accepted.shape)
        _check(request.accepted, depth)
        self._deepest = max(self._deepest, int(depth.max()), int(request.accepted.max()))
        self._waiting.append(request)
        self._count += len(request.accepted)
        if self._count >= _BLOCK_ROUNDS or len(self._waiting) >= _BLOCK_REQUESTS:
            yield from self.flush()

    def flush(self) -> Iterator[Piece]:
        """The piece that is left over, if any."""
        if self._waiting:
            yield Piece(self.header.model_copy(update={"k_max": self._deepest}), _block(self._waiting))
            self._waiting, self._count = [], 0


def _check(accepted: I64, depth: I64) -> None:
    above = np.flatnonzero((depth >= 0) & (accepted > depth))
    if len(above):
        i = int(above[0])
        raise Rejected(f"round {i} accepts {accepted[i]} drafts of {depth[i]}")
    if int(max(accepted.max(), depth.max())) > DEEPEST:
        raise Rejected(f"a chain of {max(accepted.max(), depth.max())} drafts is above {DEEPEST}")


def _block(requests: list[Rounds]) -> RoundsBlock:
    return RoundsBlock(
        request_id=tuple(r.request_id for r in requests),
        workload=tuple(r.workload for r in requests),
        stop_reason=tuple(r.stop_reason for r in requests),
        context=np.array([r.context for r in requests], np.int64),
        output_tokens=np.array([r.output_tokens for r in requests], np.int64),
        start=offsets([len(r.accepted) for r in requests]),
        position=_flat([r.position for r in requests]),
        depth=_spread(requests, "depth"),
        window=_spread(requests, "window"),
        accepted=_flat([r.accepted for r in requests]),
        emitted=_flat([r.emitted for r in requests]),
        seconds=np.concatenate([np.broadcast_to(r.seconds, len(r.accepted)) for r in requests]).astype(
            np.float64
        ),
        batch=_spread(requests, "batch"),
    )


def _flat(parts: list[I64]) -> I32:
    return np.concatenate(parts).astype(np.int32)


def _spread(requests: list[Rounds], name: str) -> I32:
    return _flat([np.broadcast_to(getattr(r, name), len(r.accepted)) for r in requests])
