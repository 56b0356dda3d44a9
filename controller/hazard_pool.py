"""What all requests have in common: the hazard that a draft at a chain position is rejected.

Failures and exposure are counted by context band, candidate window and position. Exposure is weighted by the
request's frailty (Breslow's estimator), so a hard request does not make its positions look hard.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Upper edges of the context bands that are kept apart, in tokens.
EDGES = np.array([8_192, 32_768, 131_072, 524_288])

#: Expected failures that stand for "no window differs".
WINDOW_WEIGHT = 100.0
#: Exposures that a window's own shape by position must outweigh.
SHAPE_WEIGHT = 400.0


class HazardPool:
    """Pooled hazard ``λ[band, window, position]``.

    Falls back in steps, each worth ``weight`` exposures: a prior or the position before it (times
    ``optimism``, since real chains' hazard falls or stays flat), then everything seen at the position (times
    how a window compares), then this window, then this band. Counts fade by ``decay`` a round, so what was
    learned long ago drifts back to the fallback and gets retried. Exposure counts a row by its frailty; by
    band and window the average row counts 1, or frailty would soak up what is the window's own.

    >>> pool = HazardPool(windows=1, k_max=2, prior=0.4, optimism=1.0, weight=10.0, decay=1.0)
    >>> pool.hazard[0, 0].round(2).tolist()
    [0.4000000059604645, 0.4000000059604645]
    """

    def __init__(
        self,
        windows: int,
        k_max: int,
        *,
        prior: float,
        optimism: float,
        weight: float,
        decay: float,
    ) -> None:
        self._prior, self._optimism, self._weight, self._decay = prior, optimism, weight, decay
        shape = (len(EDGES) + 1, windows, k_max)
        self._failures, self._exposure, self._rows = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
        self.hazard: F32 = np.empty(shape, np.float32)
        #: Standard error of how a window compares with the others, f32[window].
        self.doubt: F32 = np.empty(windows, np.float32)
        self._refresh()

    @property
    def cells(self) -> int:
        """Pairs of (band, window)."""
        return self._rows.size

    def band(self, context: I64) -> npt.NDArray[np.intp]:
        """Context band of every row."""
        band: npt.NDArray[np.intp] = EDGES.searchsorted(context, side="right")
        return band

    def cell(self, context: I64, window_index: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Flat index of (band, window) of every row."""
        return self.band(context) * self._failures.shape[1] + window_index

    def add(
        self,
        cell: npt.NDArray[Any],
        reached: npt.NDArray[Any],
        rejected: npt.NDArray[Any],
        frailty: F32,
        rounds: int,
    ) -> None:
        """Add ``rounds`` rounds of rows: positions reached (0..K), was the last rejected, the frailty."""
        bands, windows, k_max = self._failures.shape
        width = k_max + 1
        at = cell * width + reached
        shape, size = (bands, windows, width), bands * windows * width
        failures = np.bincount(at, rejected, size).reshape(shape)[..., 1:]
        ended = np.bincount(at, frailty, size).reshape(shape)[..., :0:-1]
        rows = np.bincount(cell, reached > 0, bands * windows).reshape(bands, windows)
        fade = self._decay**rounds
        self._rows = self._rows * fade + rows
        self._failures = self._failures * fade + failures
        self._exposure = self._exposure * fade + np.cumsum(ended, axis=-1)[..., ::-1]
        self._refresh()

    def _refresh(self) -> None:
        weight, first = self._weight, self._exposure[..., 0]
        scale = np.divide(self._rows, first, out=np.ones_like(first), where=first > 0)
        counted = self._exposure * scale[..., None]
        failures, exposure = self._failures.sum(axis=0), counted.sum(axis=0)
        base = self._base(failures.sum(axis=0), exposure.sum(axis=0))
        expected = exposure @ base
        ratio = ((failures.sum(axis=1) + WINDOW_WEIGHT) / (expected + WINDOW_WEIGHT))[:, None]
        by_window = (failures + SHAPE_WEIGHT * ratio * base) / (exposure + SHAPE_WEIGHT)
        self.hazard[...] = (self._failures + weight * by_window) / (counted + weight)
        self.doubt[...] = 1.0 / np.sqrt(expected + WINDOW_WEIGHT)

    def _base(self, failures: F64, exposure: F64) -> F64:
        before, base = self._prior, []
        for failed, exposed in zip(failures.tolist(), exposure.tolist(), strict=True):
            before = (failed + self._weight * before) / (exposed + self._weight)
            base.append(before)
            before *= self._optimism
        return np.array(base)

    def state_dict(self) -> dict[str, Any]:
        """Counts as plain arrays."""
        return {
            "failures": self._failures.copy(),
            "exposure": self._exposure.copy(),
            "rows": self._rows.copy(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value; a wrong shape is a ValueError."""
        counts = [np.array(state[name], float) for name in ("failures", "exposure", "rows")]
        shape = self._failures.shape
        if [array.shape for array in counts] != [shape, shape, shape[:2]]:
            raise ValueError(f"pool state has shapes {[array.shape for array in counts]}, expected {shape}")
        self._failures, self._exposure, self._rows = counts
        self._refresh()
