"""Fixtures every room's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def foreign_data() -> Path:
    """Other people's recorded data, which the repository does not contain; the test is skipped without it."""
    root = (Path(__file__).parents[1] / ".." / "shared" / "data").resolve()
    if not root.is_dir():
        pytest.skip(f"no foreign data at {root}")
    return root
