"""The flags and their environment twins, without SGLang."""

import argparse
import pickle
from types import SimpleNamespace

import pytest

from adaptive_depth.runtime_hooks.flags import CARRIER, Options, add_flags, options_of, stash_flags
from adaptive_depth.traces.errors import ConfigError


def parsed(*words):
    """What SGLang's record would carry after these flags."""
    parser = argparse.ArgumentParser()
    add_flags(None, parser)
    made = stash_flags(lambda cls, namespace: SimpleNamespace(), SimpleNamespace, parser.parse_args(words))
    return getattr(made, CARRIER, None)


def test_off_is_off():
    """Without the switch nothing is carried."""
    assert parsed() is None
    assert options_of(SimpleNamespace(), {}) is None


def test_flags_are_carried_and_survive_pickling():
    """Policy and log folder travel with the record to another process."""
    options = parsed("--adaptive-depth", "--adaptive-depth-config", "p.json", "--adaptive-depth-log", "logs")
    assert options == Options("p.json", "logs") == pickle.loads(pickle.dumps(options))
    assert options_of(SimpleNamespace(**{CARRIER: options}), {}) == options


@pytest.mark.parametrize("flag", ("--adaptive-depth-config", "--adaptive-depth-log"))
def test_a_flag_without_effect_ends_the_launch(flag, monkeypatch):
    """It names itself and what is missing; with the environment's switch it has its effect."""
    monkeypatch.delenv("ADAPTIVE_DEPTH", raising=False)
    with pytest.raises(SystemExit, match=f"{flag} has no effect without --adaptive-depth"):
        parsed(flag, "x")
    monkeypatch.setenv("ADAPTIVE_DEPTH", "1")
    assert parsed(flag, "x") in (Options("x", None), Options(None, "x"))


@pytest.mark.parametrize(
    ("word", "on"), [("1", True), ("true", True), ("ON", True), ("0", False), ("", False)]
)
def test_environment_words(word, on):
    """Yes and no in the usual spellings."""
    environment = {"ADAPTIVE_DEPTH": word, "ADAPTIVE_DEPTH_CONFIG": "static:3", "ADAPTIVE_DEPTH_LOG": ""}
    assert options_of(SimpleNamespace(), environment) == (Options("static:3", None) if on else None)


def test_other_words_are_refused():
    """Neither yes nor no is a mistake, not a no."""
    with pytest.raises(ConfigError, match="ADAPTIVE_DEPTH='maybe'"):
        options_of(SimpleNamespace(), {"ADAPTIVE_DEPTH": "maybe"})
