"""Fits a :class:`LinearCost` to timed rounds and says what the rounds could not determine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.controller.cost_file import Residual
from adaptive_depth.policies.cost_model import COEFFICIENTS, LinearCost, round_features
from adaptive_depth.sim.round_samples import RoundSamples, sound
from adaptive_depth.traces.errors import CostError

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

#: Fewer rounds than this are no fit.
MIN_ROUNDS = 20
#: Which of two terms that the rounds cannot tell apart is kept: the earlier.
PREFERENCE = ("v0", "f0", "v2", "spec", "v1", "x2", "f2", "v3", "x1", "x3", "f1")
#: Share of a column that must lie outside the span of the columns before it.
INDEPENDENT = 1e-4
#: Standard errors that a coefficient must exceed, and the share of a round by which its part must vary.
#: Below either it is noise, which a price at another context or batch would multiply.
SIGNIFICANT = 2.0
NOTABLE = 0.005


@dataclass(frozen=True, slots=True)
class CostFit:
    """A fitted cost and how far to trust it."""

    cost: LinearCost
    rounds: int
    rejected: int
    residuals: list[Residual]
    #: Share of the variance of seconds explained; None where all rounds took the same.
    r_squared: float | None
    #: Terms that are sums of others in these rounds, or were never exercised; they are 0.
    collinear: list[str]
    #: Terms whose effect is within noise; they are 0.
    insignificant: list[str]


def fit_cost(samples: RoundSamples, extend_windowed: bool = False, extend_at_zero: bool = True) -> CostFit:
    """Fit the rounds that are no warm-up and no stall; :class:`CostError` where too few are left.

    The squared relative error is minimised, so that a short round counts as much as a long one.
    """
    kept = samples.take(sound(samples)) if len(samples) else samples
    _enough(len(kept))
    fitted = _Columns(kept, extend_windowed, extend_at_zero).fit()
    # A second look: what one (depth, batch) could not show, for example a rare one, the fit does.
    miss = np.log(np.maximum(fitted.predicted, 1e-12) / kept.seconds)
    miss = np.abs(miss - np.median(miss))
    near = miss <= max(5 * 1.4826 * float(np.median(miss)), 0.25)
    kept = kept.take(near)
    _enough(len(kept))
    fitted = _Columns(kept, extend_windowed, extend_at_zero).fit()
    return CostFit(
        fitted.cost,
        len(kept),
        len(samples) - len(kept),
        _residuals(kept, fitted.predicted),
        _r_squared(kept.seconds, fitted.predicted),
        fitted.collinear,
        fitted.insignificant,
    )


def _enough(rounds: int) -> None:
    if rounds < MIN_ROUNDS:
        raise CostError(f"{rounds} timed rounds are usable, at least {MIN_ROUNDS} are needed")


@dataclass(frozen=True, slots=True)
class _Fitted:
    cost: LinearCost
    predicted: F64
    collinear: list[str]
    insignificant: list[str]


class _Columns:
    """The fit's columns: what each coefficient contributes to a round, over the round's seconds."""

    def __init__(self, samples: RoundSamples, extend_windowed: bool, extend_at_zero: bool) -> None:
        features = round_features(samples.load(extend_windowed), samples.depth, extend_at_zero)
        order = [COEFFICIENTS.index(name) for name in PREFERENCE]
        self._flags = {"extend_windowed": extend_windowed, "extend_at_zero": extend_at_zero}
        self._seconds = samples.seconds
        self._x = features[:, order] / samples.seconds[:, None]

    def fit(self) -> _Fitted:
        """Drop what cannot be told apart, then what is within noise, and fit the rest."""
        chosen = self._independent()
        collinear = [name for name, keep in zip(PREFERENCE, chosen, strict=True) if not keep]
        values = self._solve(chosen)
        while (weakest := self._weakest(chosen, values)) is not None:
            chosen[weakest] = False
            values = self._solve(chosen)
        noise = [n for n, keep in zip(PREFERENCE, chosen, strict=True) if not keep and n not in collinear]
        named = dict(zip(PREFERENCE, values.tolist(), strict=True))
        named["v0"] = max(named["v0"], 1e-6)
        return _Fitted(LinearCost(**named, **self._flags), self._x @ values * self._seconds, collinear, noise)

    def _independent(self) -> Bool:
        """Columns with something of their own, in order of preference (Gram-Schmidt)."""
        basis: list[F64] = []
        chosen = np.zeros(len(PREFERENCE), bool)
        for index, column in enumerate(self._x.T):
            rest = column.copy()
            for _ in range(2):  # once more against rounding
                for direction in basis:
                    rest -= (direction @ rest) * direction
            size = float(np.linalg.norm(rest))
            if size > INDEPENDENT * float(np.linalg.norm(column)):
                basis.append(rest / size)
                chosen[index] = True
        return chosen

    def _solve(self, chosen: Bool) -> F64:
        """Non-negative least squares on the chosen columns, 0 elsewhere, ``[F]``."""
        from scipy.optimize import nnls

        values = np.zeros(len(PREFERENCE))
        size = np.linalg.norm(self._x[:, chosen], axis=0)
        values[chosen] = nnls(self._x[:, chosen] / size, np.ones(len(self._x)))[0] / size
        return values

    def _weakest(self, chosen: Bool, values: F64) -> int | None:
        """The chosen term, never the first, that is least above its error and not by enough; None if all
        are.
        """
        active = np.flatnonzero(chosen)
        size = np.linalg.norm(self._x[:, active], axis=0)
        scaled, parts = self._x[:, active] / size, self._x[:, active] * values[active]
        miss = 1 - parts.sum(axis=1)
        variance = float(miss @ miss) / max(len(miss) - len(active), 1)
        error = np.sqrt(variance * np.linalg.inv(scaled.T @ scaled).diagonal())
        ratio = values[active] * size / np.maximum(error, 1e-300)
        ratio[parts.std(axis=0) < NOTABLE] = 0.0
        ratio[active == 0] = np.inf
        least = int(np.argmin(ratio))
        return int(active[least]) if ratio[least] < SIGNIFICANT else None


def _residuals(samples: RoundSamples, predicted: F64) -> list[Residual]:
    """By depth the median measured and fitted seconds, and the median of their ratio over the rounds."""
    rows = []
    for depth in np.unique(samples.depth).tolist():
        here = samples.depth == depth
        measured, fitted = (float(np.median(v[here])) * 1e3 for v in (samples.seconds, predicted))
        percent = 100 * (float(np.median(predicted[here] / samples.seconds[here])) - 1)
        row = Residual(
            depth=depth,
            rounds=int(here.sum()),
            measured_ms=measured,
            fitted_ms=fitted,
            residual_percent=percent,
        )
        rows.append(row)
    return rows


def _r_squared(seconds: F64, predicted: F64) -> float | None:
    """1 - residual over total sum of squares."""
    total = float(((seconds - seconds.mean()) ** 2).sum())
    return None if total <= 0 else 1 - float(((seconds - predicted) ** 2).sum()) / total
