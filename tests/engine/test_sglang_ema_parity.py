"""The vectors of stock SGLang's depth rule are still what the installed class does."""

import json
from pathlib import Path

import pytest

VECTORS = Path(__file__).parents[1] / "vectors" / "policies" / "sglang_ema.json"


def test_vectors_are_what_the_installed_class_does():
    """Driven afresh on the same feedback, it takes the recorded steps and ends on the recorded EMA."""
    from engine_env.ema_vectors import make_all

    stored, fresh = json.loads(VECTORS.read_text()), json.loads(json.dumps(make_all()))
    assert [case["name"] for case in stored["cases"]] == [case["name"] for case in fresh["cases"]]
    for old, new in zip(stored["cases"], fresh["cases"], strict=True):
        assert old == new, old["name"]


def test_refused_configs_are_refused_by_the_installed_class():
    """Every config listed as refused raises when the stock rule is built from it."""
    from engine_env.ema_vectors import stock

    for config in json.loads(VECTORS.read_text())["refused"]:
        with pytest.raises(ValueError, match=r"candidate_steps|must contain at least one"):
            stock(config, 3)
