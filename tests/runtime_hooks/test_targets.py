"""The check of SGLang's source against the table of hook targets, on trees made up for it."""

import pytest

from adaptive_depth.runtime_hooks.targets import TARGETS, check_targets, check_version
from adaptive_depth.traces.errors import HookTargetError

WORKER = """
import torch_that_is_not_installed

class Worker(Base):
    x: int = 3

    def run(self, batch, *, deep=False, **more): ...

    class Inner:
        async def go(self, /, a, *rest): ...

def free(name): ...
"""


@pytest.fixture
def tree(tmp_path):
    """A folder that stands for ``sglang.srt``."""
    (tmp_path / "speculative").mkdir()
    (tmp_path / "speculative" / "worker.py").write_text(WORKER)
    return tmp_path


def test_what_matches_is_silent(tree):
    """Functions, methods, inner classes, keyword-only and starred parameters: read without importing."""
    expected = {
        "speculative.worker.Worker.run": ("self", "batch", "deep", "**more"),
        "speculative.worker.Worker.Inner.go": ("self", "a", "*rest"),
        "speculative.worker.free": ("name",),
    }
    assert check_targets(expected, tree) == []


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("speculative.worker.Worker.run", ("self", "batch"), "takes (self, batch, deep, **more)"),
        ("speculative.worker.free", ("title",), "takes (name), expected (title)"),
        ("speculative.worker.Worker.gone", ("self",), "is missing"),
        ("speculative.worker.Gone.run", ("self",), "is missing"),
        ("speculative.gone.Worker.run", ("self",), "is missing"),
        ("gone.Worker.run", ("self",), "is missing"),
    ],
)
def test_what_differs_is_named(tree, name, parameters, told):
    """Every mismatch is one line with the dotted name and what was found."""
    others = {"speculative.worker.free": ("name",)}
    (fault,) = check_targets(others | {name: parameters}, tree)
    assert fault.startswith(f"sglang.srt.{name} ") and told in fault


def test_unknown_releases_are_refused():
    """No guess is made at a release that was never tested; the tested ones are named."""
    assert check_version("0.5.23") is TARGETS["0.5.23"]
    with pytest.raises(HookTargetError, match=r"SGLang 0\.6\.0 .*tested on \(0\.5\.23\)"):
        check_version("0.6.0")
    with pytest.raises(HookTargetError, match="not installed: pip install"):
        check_version(None)
