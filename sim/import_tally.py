"""Requests, rounds and accept length of a trace set while it is imported, block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adaptive_depth.sim.fixed_depth import round_starts
from adaptive_depth.traces.records import Block, DenseBlock, RoundsBlock


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

    @property
    def accept_length(self) -> float:
        """Tokens a round with the bonus; NaN before any round."""
        return self.tokens / self.rounds if self.rounds else float("nan")

    def add(self, block: Block) -> None:
        """Count the requests of ``block``."""
        self.requests += block.requests
        self.items += int(block.start[-1])
        rounds, tokens = _rounds_and_tokens(block)
        self.rounds += rounds
        self.tokens += tokens


def _rounds_and_tokens(block: Block) -> tuple[int, float]:
    if isinstance(block, DenseBlock):
        return len(round_starts(block.accepted[0], block.start, 127)), float(block.start[-1])
    if isinstance(block, RoundsBlock):
        return len(block.accepted), float(block.accepted.sum() + len(block.accepted))
    known = block.accept_length[~np.isnan(block.accept_length)]
    return len(known), float(known.sum())
