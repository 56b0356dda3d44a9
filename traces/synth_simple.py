"""Simple synthetic dense traces: stationary, phased, all accepted, none accepted.

They have no request level and no drift, so every right answer is known in closed form. Each output
token is either easy or hard for the drafter, and every chain that crosses it sees the same verdict;
accepted counts therefore run down (5, 4, 3, 2, ...) as they do in recorded dense traces, and rounds at
a fixed depth are independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.records import DenseBlock

#: Context tokens of a simple request unless told otherwise: the 1M prompts of the published measurements.
CONTEXT_TOKENS = 1_040_000


def hazard_for_mean(mean_accepted: float, k_max: int) -> float:
    """Return the flat conditional acceptance ``h`` with ``h + h² + … + h^k_max = mean_accepted``.

    ``mean_accepted`` counts drafts without the bonus and lies in 0..k_max; anything else is a
    ``ConfigError``.

    >>> round(hazard_for_mean(2.0, 7), 4), hazard_for_mean(0.0, 7), hazard_for_mean(7.0, 7)
    (0.6823, 0.0, 1.0)
    """
    if not 0 <= mean_accepted <= k_max:
        raise ConfigError(f"mean accepted {mean_accepted:g} is outside 0..{k_max} (the chain cap)")
    if mean_accepted == k_max:
        return 1.0
    powers = np.arange(1, k_max + 1)
    low, high = 0.0, 1.0
    for _ in range(60 if mean_accepted > 0 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if (middle**powers).sum() < mean_accepted else (low, middle)
    return low


def stationary(
    rng: np.random.Generator,
    *,
    mean_accepted: float = 2.0,
    requests: int = 64,
    tokens: int = 512,
    k_max: int = 7,
    context: int = CONTEXT_TOKENS,
    windows: int = 1,
) -> DenseBlock:
    """Draw requests with one flat acceptance: no levels, no drift, no effect of position or window.

    ``mean_accepted`` is the mean accepted count at depth ``k_max``. See :func:`phases` for the other
    arguments.
    """
    levels = [(tokens, mean_accepted)]
    return phases(rng, levels, requests=requests, k_max=k_max, context=context, windows=windows)


def phases(
    rng: np.random.Generator,
    levels: Sequence[tuple[int, float]],
    *,
    requests: int = 64,
    k_max: int = 7,
    context: int = CONTEXT_TOKENS,
    windows: int = 1,
) -> DenseBlock:
    """Draw requests that all pass through the same phases of acceptance.

    ``levels`` lists ``(tokens, mean accepted at depth k_max)`` in order: ``[(1000, 0.0), (1000, 4.0)]``
    accepts nothing for 1,000 output tokens and then is good again. Every request has ``Σ tokens`` output
    tokens and ``context`` prompt tokens. The same counts are repeated for each of ``windows`` windows.
    Chains that cross into a phase meet its acceptance; after the last token the last phase goes on.
    """
    if not levels or min(tokens for tokens, _ in levels) < 1 or requests < 1 or not 1 <= k_max <= 127:
        raise ConfigError(
            "a simple trace needs at least one request, a token in each phase and a cap of 1..127"
        )
    hazards = [hazard_for_mean(mean, k_max) for _, mean in levels]
    by_token = np.repeat(hazards, [tokens for tokens, _ in levels])
    by_token = np.concatenate([by_token, np.full(k_max, hazards[-1])])
    easy = rng.random((requests, len(by_token))) < by_token
    return _block(run_lengths(easy, k_max), context, windows)


def all_accepted(*, requests: int = 8, tokens: int = 256, k_max: int = 7, windows: int = 1) -> DenseBlock:
    """Return a trace in which every draft is accepted."""
    return _block(np.full((requests, tokens), k_max, np.int8), CONTEXT_TOKENS, windows)


def none_accepted(*, requests: int = 8, tokens: int = 256, windows: int = 1) -> DenseBlock:
    """Return a trace in which no draft is ever accepted."""
    return _block(np.zeros((requests, tokens), np.int8), CONTEXT_TOKENS, windows)


def run_lengths(easy: npt.NDArray[np.bool_], k_max: int) -> npt.NDArray[np.int8]:
    """Count the easy tokens in a row from every position, capped at ``k_max``: ``[R, N + k_max] -> [R, N]``.

    >>> run_lengths(np.array([[True, True, False, True, True, True]]), 3).tolist()
    [[2, 1, 0]]
    """
    tokens = easy.shape[1] - k_max
    alive = np.ones((len(easy), tokens), bool)
    accepted = np.zeros((len(easy), tokens), np.int8)
    for draft in range(k_max):
        alive &= easy[:, draft : draft + tokens]
        accepted += alive
    return accepted


def _block(accepted: npt.NDArray[np.int8], context: int, windows: int) -> DenseBlock:
    requests, tokens = accepted.shape
    return DenseBlock(
        request_id=tuple(f"r{index:05d}" for index in range(requests)),
        workload=("synthetic",) * requests,
        stop_reason=("length",) * requests,
        context=np.full(requests, context, np.int64),
        start=np.arange(requests + 1, dtype=np.int64) * tokens,
        accepted=np.repeat(accepted.reshape(1, -1), windows, axis=0),
    )
