"""Requests, rounds and accept length of a trace set while it is imported, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.sim.fixed_depth import emitted_tokens, round_starts
from adaptive_depth.traces.records import F64, Block, DenseBlock, RoundsBlock
from adaptive_depth.traces.validate import MAX_DEPTH

_ENOUGH, _IDLE = 100, 1.05


@dataclass(slots=True)
class Tally:
    """Running totals of blocks of one kind.

    ``items`` counts positions (dense), rounds or log intervals. The accept length is tokens over ROUNDS,
    not an average of requests: of a dense trace played at its full chain and first window, of a rounds
    trace as verified. An interval does not say how many rounds it averages, so each counts as one.

    >>> Tally().accept_length
    nan
    """

    requests: int = 0
    items: int = 0
    rounds: int = 0
    tokens: float = 0.0
    drafting_rounds: int = 0
    drafting_tokens: float = 0.0

    @property
    def accept_length(self) -> float:
        """Tokens a round with the bonus; NaN before any round."""
        return self.tokens / self.rounds if self.rounds else float("nan")

    @property
    def drafter_idle(self) -> bool:
        """Whether next to no draft was accepted in 100 rounds (or intervals of rounds) that drafted.

        Text that is hard to draft still accepts a few in ten; a checkpoint without a draft head accepts none,
        one fed from the wrong layers about 0.035 a round.
        """
        return self.drafting_rounds >= _ENOUGH and self.drafting_tokens / self.drafting_rounds < _IDLE

    def add(self, block: Block) -> None:
        """Count the requests of ``block``."""
        self.requests += block.requests
        self.items += int(block.start[-1])
        tokens, drafting = _tokens_and_drafting(block)
        self.rounds += len(tokens)
        self.tokens += float(tokens.sum())
        self.drafting_rounds += int(drafting.sum())
        self.drafting_tokens += float(tokens[drafting].sum())


def _tokens_and_drafting(block: Block) -> tuple[F64, npt.NDArray[np.bool_]]:
    """Tokens of every round, f64[M], and whether it drafted, bool[M]; an unknown depth counts as drafting."""
    if isinstance(block, DenseBlock):
        starts = round_starts(block.accepted[0], block.start, MAX_DEPTH)
        return emitted_tokens(starts, block.start).astype(np.float64), np.ones(len(starts), np.bool_)
    if isinstance(block, RoundsBlock):
        return block.accepted.astype(np.float64) + 1, block.depth != 0
    known = ~np.isnan(block.accept_length)
    return block.accept_length[known], block.depth[known] != 0
