"""Generator of dense synthetic traces: request levels, slow drift, and token difficulty shared by chains.

The model is a probit race. Draft ``j`` of the chain started at output position ``p`` of request ``r``
proposes output token ``t = p + j - 1`` and passes when::

    √sharing · z[t] + √(1 - sharing) · e[p, j]  <=  threshold[j] + level[r] + drift[r, t] (+ window shift)

``z`` is the token's own difficulty, the same for every chain that crosses it, which is why accepted
counts run down (7, 6, 5, 4, ...) in recorded dense traces; ``e`` belongs to one draft of one chain;
``level`` is the request's frailty; ``drift`` is a stationary AR(1) over output tokens. Windows see the
same numbers (common random numbers): a window moves the thresholds and redraws ``z`` for a share of the
tokens, and a token redrawn in a wide window is redrawn alike in every narrower one.

Everything random comes from the ``numpy.random.Generator`` that is passed in. NumPy promises the bit
stream of ``PCG64`` for ever but reserves the right to change the algorithm behind ``standard_normal``
between releases (NEP 19); it has not since 1.17. The shipped files are therefore the reference, and a
test regenerates one of them to tell when a NumPy release draws differently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.traces.errors import ConfigError
from adaptive_depth.traces.records import F64, I8, I64, DenseBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEffect:
    """What one draft window does to acceptance, relative to full context.

    ``shift[j]`` moves the threshold of draft j (probit units; the last value holds for all deeper drafts) and
    ``changed`` is the share of output tokens whose difficulty is redrawn: 1 - top-1 invariance.
    """

    window: int
    shift: tuple[float, ...] = (0.0,)
    changed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthModel:
    """Parameters of the generator; see the module for the formula.

    ``thresholds`` has one entry per draft, so its length is the chain cap. ``level_sd`` scales the
    request scores, ``drift_sd`` is the stationary standard deviation of the drift and ``drift_memory``
    its AR(1) coefficient per output token, ``sharing`` (0..1) the part of a draft's luck that belongs
    to the token.
    """

    thresholds: tuple[float, ...]
    level_sd: float = 0.35
    drift_sd: float = 0.3
    drift_memory: float = 0.95
    sharing: float = 0.8
    windows: tuple[WindowEffect, ...] = (WindowEffect(window=0),)

    def __post_init__(self) -> None:
        """Refuse parameters outside their range."""
        if not 1 <= len(self.thresholds) <= 127 or not self.windows:
            raise ConfigError("a synthetic trace needs 1..127 thresholds and at least one window")
        if not (
            0 <= self.sharing <= 1 and 0 <= self.drift_memory < 1 and self.level_sd >= 0 <= self.drift_sd
        ):
            raise ConfigError(
                "sharing must lie in 0..1, drift memory in 0..1 (excluded), spreads at 0 or above"
            )

    @property
    def k_max(self) -> int:
        """Drafts in the deepest chain."""
        return len(self.thresholds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """The requests to generate: ids, task names, prompt tokens, output tokens and level scores, all ``[R]``.

    A score is in units of ``level_sd``: 0 is the average request.
    """

    request_id: tuple[str, ...]
    workload: tuple[str, ...]
    context: I64
    output_tokens: I64
    score: F64


@dataclass(frozen=True, slots=True)
class Noise:
    """The random numbers of one trace, drawn once so that models can be compared on the same luck."""

    row: I64  # [N] request of each position
    token: I64  # [N] index of the token that the first draft of this position proposes
    fresh: I64  # [T] tokens since the request's first
    request: I64  # [T] request of each token
    shared: F64  # [T] z
    redrawn: F64  # [T] z where a window changed the token
    rank: F64  # [T] uniform; a window redraws the tokens whose rank is below its share
    drift: F64  # [T] innovations
    own: npt.NDArray[np.float32]  # [K, N] e


def draw_noise(rng: np.random.Generator, output_tokens: I64, k_max: int) -> Noise:
    """Draw the luck of requests of ``output_tokens[R]``; chains look up to ``k_max`` tokens past the end."""
    tokens = output_tokens + k_max
    request = np.repeat(np.arange(len(tokens)), tokens)
    fresh = _count_up(tokens)
    positions = fresh < output_tokens[request]
    total = len(request)
    return Noise(
        row=request[positions],
        token=np.flatnonzero(positions),
        fresh=fresh,
        request=request,
        shared=rng.standard_normal(total),
        redrawn=rng.standard_normal(total),
        rank=rng.random(total),
        drift=rng.standard_normal(total),
        own=rng.standard_normal((k_max, int(output_tokens.sum())), dtype=np.float32),
    )


def _count_up(lengths: I64) -> I64:
    """``[2, 3] -> [0, 1, 0, 1, 2]``."""
    ends = np.cumsum(lengths)
    count: I64 = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
    return count


def stationary_ar(innovations: F64, fresh: I64, memory: float) -> F64:
    """Unit-variance AR(1) along each request, from white innovations; restarts where ``fresh`` is 0.

    Sums ``memory**i`` times the i-th last innovation by doubling, so the cost is log2 of the memory's reach.
    """
    path = np.where(fresh == 0, innovations, innovations * np.sqrt(1 - memory * memory))
    span = 1
    while span <= fresh.max(initial=0) and memory**span > 1e-9:
        path[span:] += np.where(fresh[span:] >= span, path[:-span], 0.0) * memory**span
        span *= 2
    return path


def accepted_counts(model: SynthModel, noise: Noise, score: F64) -> I8:
    """Accepted drafts at every position and window, ``[W, N]``, of ``model`` under the luck in ``noise``."""
    drift = model.drift_sd * stationary_ar(noise.drift, noise.fresh, model.drift_memory)
    ease = model.level_sd * score[noise.request] + drift
    rows = [_window_counts(model, effect, noise, ease) for effect in model.windows]
    return np.stack(rows)


def _window_counts(model: SynthModel, effect: WindowEffect, noise: Noise, ease: F64) -> I8:
    changed = noise.rank < effect.changed
    luck = ease - np.sqrt(model.sharing) * np.where(changed, noise.redrawn, noise.shared)
    own = np.sqrt(1 - model.sharing)
    accepted = np.zeros(len(noise.row), np.int8)
    alive = np.arange(len(noise.row))
    for draft, threshold in enumerate(model.thresholds):
        shift = effect.shift[min(draft, len(effect.shift) - 1)]
        room = luck[noise.token[alive] + draft] + (threshold + shift)
        alive = alive[own * noise.own[draft, alive] <= room]
        accepted[alive] += 1
    return accepted


def generate(rng: np.random.Generator, model: SynthModel, plan: RequestPlan) -> DenseBlock:
    """Draw one dense block: ``accepted[W, N]`` for every request of ``plan`` and window of ``model``."""
    noise = draw_noise(rng, plan.output_tokens, model.k_max)
    return DenseBlock(
        request_id=plan.request_id,
        workload=plan.workload,
        stop_reason=("unknown",) * len(plan.request_id),
        context=plan.context,
        start=np.concatenate([[0], np.cumsum(plan.output_tokens)]).astype(np.int64),
        accepted=accepted_counts(model, noise, plan.score),
    )
