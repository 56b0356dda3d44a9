"""Non-negative least squares on a normal matrix."""

import numpy as np
import pytest
from scipy.optimize import nnls

from adaptive_depth.controller.nonnegative import nonnegative


@pytest.mark.parametrize("seed", range(40))
def test_agrees_with_scipy(seed):
    """The optimum is scipy's, from any guess of which coordinates are free."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(30, 11)) + rng.normal(size=(30, 1))
    b = a @ np.maximum(rng.normal(size=11), 0) + rng.normal(size=30)
    want, _ = nnls(a, b)
    got = nonnegative(a.T @ a, a.T @ b, rng.random(11) < 0.5)
    assert got == pytest.approx(want, abs=1e-8)


def test_nothing_positive_is_zero():
    """Where every direction makes it worse, the answer is 0."""
    assert nonnegative(np.eye(3), -np.ones(3), np.ones(3, bool)).tolist() == [0, 0, 0]
