"""The examples in the docstrings run, by installed name: by path every rule would be registered twice."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("controller", "policies", "runtime_hooks", "sim", "traces")


def _examples() -> list[str]:
    """Modules whose text holds an example; walked on disk, as ``pkgutil`` finds none when editable."""
    paths = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    with_example = (path.relative_to(ROOT) for path in paths if ">>> " in path.read_text("utf-8"))
    names = (".".join(("adaptive_depth", *path.with_suffix("").parts)) for path in with_example)
    return sorted(name.removesuffix(".__init__") for name in names)


@pytest.mark.parametrize("name", _examples())
def test_examples_run(name):
    """Every example prints what it says."""
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0, "the example is in no docstring"
    assert result.failed == 0
