"""Fixtures of the tests that run the real SGLang on the CPU, inside the engine's own environment."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
HAVE_ENGINE = importlib.util.find_spec("sglang") is not None
WHY = "SGLang is not in this environment; these tests run by `make test-engine`, inside build/engine-venv"

#: Configurations of the server: name -> (arguments, environment). One start each, shared by all tests.
CHAIN = "--speculative-eagle-topk 1 --speculative-num-steps 3"
NEXTN = f"--speculative-algorithm NEXTN {CHAIN} --speculative-num-draft-tokens 4"
EAGLE = f"--speculative-algorithm EAGLE {CHAIN} --speculative-num-draft-tokens 4"
STOCK_ADAPTIVE = f"--speculative-algorithm NEXTN {CHAIN} --speculative-adaptive"
INTERPRETED = {"TRITON_INTERPRET": "1"}
CONFIGURATIONS = {
    "plain": ("", {}),
    "nextn": (NEXTN, {}),
    "eagle": (f"{EAGLE} --speculative-draft-model-path {{eagle}}", {}),
    "adaptive": (f"{STOCK_ADAPTIVE} --speculative-adaptive-config {{adaptive}}", {}),
    "ours-ema": (f"{NEXTN} --adaptive-depth --adaptive-depth-config sglang-ema:{{adaptive}}", {}),
    "overlap": (
        f"{STOCK_ADAPTIVE} --speculative-adaptive-config {{adaptive}}",
        INTERPRETED | {"CPU_ENGINE_OVERLAP": "1"},
    ),
    "triton-window": (
        f"{NEXTN} --attention-backend triton"
        " --speculative-draft-window-size 8 --speculative-draft-sink-size 4",
        INTERPRETED,
    ),
}
#: Thresholds that overlap, so that the stock rule moves up and down all the time.
LIVELY = {"candidate_steps": [1, 2, 3, 5], "warmup_batches": 2, "update_interval": 2, "ema_alpha": 0.6}
ADAPTIVE = json.dumps({"1": LIVELY | {"down_hysteresis": 0.25}})


def pytest_collection_modifyitems(items):
    """Mark every test here, let SGLang's own warnings pass, and skip all of it where SGLang is absent."""
    mine = [item for item in items if HERE in item.path.parents]
    for item in mine:
        item.add_marker(pytest.mark.engine)
        item.add_marker(pytest.mark.filterwarnings("default"))
        if not HAVE_ENGINE:
            item.add_marker(pytest.mark.skip(reason=WHY))
    if (
        mine
        and not HAVE_ENGINE
        and os.environ.get("CI") == "true"
        and not (ROOT / "build/engine-venv").exists()
    ):
        raise pytest.UsageError(f"{WHY}, which this CI machine has not built: run `make engine` first")


def pytest_terminal_summary(terminalreporter):
    """A skipped engine is said aloud, not only counted."""
    if not HAVE_ENGINE:
        terminalreporter.write_line(f"NOT RUN: tests/engine. {WHY}.", yellow=True)


@pytest.fixture(scope="session")
def models():
    """Folders of the tiny models by name."""
    from engine_env.models import make

    return make(ROOT / "build" / "engine-models")


@pytest.fixture(scope="session")
def recording(models, tmp_path_factory):
    """``recording(name, tokens=, number=)``: what that configuration's server did; started once, kept."""
    from engine_env.recording import record

    adaptive = tmp_path_factory.mktemp("adaptive") / "config.json"
    adaptive.write_text(ADAPTIVE)
    done = {}

    def run(name, **how):
        if name not in done:
            arguments, env = CONFIGURATIONS[name]
            arguments = shlex.split(arguments.format(adaptive=adaptive, eagle=models["tiny-eagle"]))
            folder = tmp_path_factory.mktemp(name)
            done[name] = record(folder, models["tiny-mimo"], *arguments, env=env, **how)
        return done[name]

    return run


@pytest.fixture(scope="session")
def soaked(models, tmp_path_factory):
    """``soaked(name)``: a short soak of that configuration (``engine_env.soak``); run once, kept."""
    from engine_env.soak import reference, soak

    kept = ROOT / "build" / "soak"
    kept.mkdir(parents=True, exist_ok=True)
    done = {}

    def run(name, requests=36, **how):
        if name not in done:
            wanted = reference(models, kept)
            done[name] = soak(name, models, tmp_path_factory.mktemp("soak"), wanted, requests, **how)
        return done[name]

    return run
