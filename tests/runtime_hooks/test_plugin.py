"""The entry point where there is no SGLang, or one without a plugin system."""

import sys

import pytest

from adaptive_depth.runtime_hooks import register


@pytest.fixture(autouse=True)
def no_sglang(monkeypatch):
    """Whatever this environment has, ``import sglang`` fails."""
    monkeypatch.setitem(sys.modules, "sglang", None)
    monkeypatch.setattr("adaptive_depth.runtime_hooks.plugin.installed_version", lambda: "0.4.2")


def test_asked_for_by_environment_it_is_refused(monkeypatch):
    """A server that would quietly run static is not started; the releases that would do are named."""
    monkeypatch.setenv("ADAPTIVE_DEPTH", "1")
    with pytest.raises(SystemExit, match=r"adaptive-depth: SGLang 0\.4\.2 is not .*0\.5\.23"):
        register()


def test_not_asked_for_it_is_an_ordinary_error(monkeypatch):
    """SGLang logs it and serves on without the plugin."""
    monkeypatch.delenv("ADAPTIVE_DEPTH", raising=False)
    with pytest.raises(ImportError):
        register()
