"""``NAME[:PARAMS]``: what it takes, and that nothing else is guessed."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive_depth.policies.registry import entries
from adaptive_depth.policies.spec import parse_spec
from adaptive_depth.traces.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("static:3", "static", {"depth": 3}),
        ("static:3@4032", "static", {"depth": 3, "window": 4032}),
        ("static:@4032", "static", {"window": 4032}),
        ("static:depth=2", "static", {"depth": 2}),
        ("marginal", "marginal", {}),
        (
            "marginal:switch_cost=0.1,probe_budget=2e-2",
            "marginal",
            {"switch_cost": 0.1, "probe_budget": 0.02},
        ),
        ("throughput-aware:window_size=40", "throughput-aware", {"window_size": 40}),
        ("bandit:discount=.9,dwell=+4", "bandit", {"discount": 0.9, "dwell": 4}),
    ],
)
def test_reads(text, name, parameters):
    """The documented forms; the text is kept as the row's name."""
    spec = parse_spec(text)
    assert (spec.name, dict(spec.parameters), spec.text) == (name, parameters, text)


def test_sglang_ema_reads_a_file_of_any_name(tmp_path):
    """Whatever follows the colon is the path, commas and equal signs included."""
    path = tmp_path / "a=1,b.json"
    path.write_text(json.dumps({"1": {"candidate_steps": [2, 4]}}))
    assert parse_spec(f"sglang-ema:{path}").config().depths == (2, 4)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("marginl", "did you mean 'marginal'"),
        ("marginl:3", "did you mean 'marginal'"),
        ("", "known: bandit"),
        ("marginal:switch_cots=1", "did you mean 'switch_cost'"),
        ("static:", "nothing follows"),
        ("static:3@", "key=value"),
        ("static:-3", "key=value"),
        ("static:3x", "key=value"),
        ("static:3@4032@1", "key=value"),
        ("marginal:switch_cost", "key=value"),
        ("marginal:switch_cost=", "key=value"),
        ("marginal:switch_cost=1,", "key=value"),
        ("marginal:switch_cost=1,switch_cost=2", "given twice"),
        ("marginal:switch_cost=1_0", "neither a number"),
        ("marginal:switch_cost=0x10", "neither a number"),
        ("marginal:switch_cost= 1", "neither a number"),
        ("marginal:switch_cost=1e999", "switch_cost"),
        ("marginal:switch_cost=nan", "switch_cost"),
        ("marginal:switch_cost=true", "switch_cost"),
        ("bandit:dwell=1.5", "dwell"),
        ("bandit:dwell=0", "dwell must be"),
        ("sglang-ema:/no/such/file.json", "/no/such/file.json"),
    ],
)
def test_refuses_and_says_what(text, told):
    """One ConfigError that names the part at fault, never a guess."""
    with pytest.raises(ConfigError, match=told):
        parse_spec(text)


@given(st.sampled_from([e.name for e in entries()] + ["x"]), st.text(max_size=20))
def test_no_text_raises_anything_else(name, rest):
    """Whatever is typed, it is a spec or a ConfigError."""
    with contextlib.suppress(ConfigError):
        parse_spec(f"{name}:{rest}").config()
