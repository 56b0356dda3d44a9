"""How far to trust a request's recent rounds over its whole past: learned from which predicts better.

On stationary text the slow memory wins and the fast one only adds noise; where a request drifts (code edits,
n-gram drafts, long reasoning) the fast one wins. The evidence is the log-likelihood of what the next round
did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]

#: Evidence fades by this a round, and is cut at this many nats: a change of mind takes rounds, not hours.
FADE, MOST = 0.999, 6.0


class DriftBlend:
    """Weights of the slow and the fast memory, ``weights`` f32[2], summing to 1.

    >>> DriftBlend().weights.tolist()
    [0.5, 0.5]
    """

    def __init__(self) -> None:
        self._evidence = 0.0
        self.weights: F32 = np.array([0.5, 0.5], np.float32)

    def add(self, rejected: npt.NDArray[Any], expected: F32, frailty: F32, rounds: int) -> None:
        """Judge both memories by rows they had not seen.

        ``rejected[M]`` whether the chain was rejected, ``expected[M]`` rejections the pool expected up to
        where it got, ``frailty[M, 2]`` what the two memories made of it. Poisson log-likelihood of the fast
        over the slow one.
        """
        frailty = np.maximum(frailty, np.float32(0.01))
        gain = rejected * np.log(frailty[:, 1] / frailty[:, 0]) - expected * (frailty[:, 1] - frailty[:, 0])
        self._evidence = float(np.clip(self._evidence * FADE**rounds + gain.sum(), -MOST, MOST))
        self._weigh()

    def _weigh(self) -> None:
        fast = 1.0 / (1.0 + np.exp(-self._evidence))
        self.weights = np.array([1.0 - fast, fast], np.float32)

    def state_dict(self) -> dict[str, Any]:
        """The evidence in nats."""
        return {"evidence": self._evidence}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""
        self._evidence = float(state["evidence"])
        self._weigh()
