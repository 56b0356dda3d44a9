"""Policy file and SGLang's own flags put together."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.runtime_hooks.tiers import DEFAULT_TIERS, LaunchFlags, launched_policy
from adaptive_depth.traces.errors import ConfigError

NO_FLAGS = LaunchFlags()
DEPTHS = {"depths": [0, 2, 4], "windows": [0, 64, 256], "sink": 8}


def settle(flags=NO_FLAGS, policy="marginal", candidates=None, **parameters):
    """The candidates of a launch."""
    more = {} if candidates is None else {"candidates": candidates}
    text = json.dumps({"policy": policy, "parameters": parameters, **more})
    file = PolicyFile.model_validate_json(text)
    return launched_policy(file, flags).choices()


def test_nothing_said_gives_five_tiers():
    """0, the start depth 3, and up to 7."""
    choices = settle()
    assert choices.depths == DEFAULT_TIERS and choices.start_depth == 3 and choices.windows == (0,)


@given(st.integers(0, 20), st.one_of(st.none(), st.integers(1, 24)))
def test_default_tiers(steps, tokens):
    """At most five, ascending, 0, start and deepest among them, and none deeper than allowed."""
    if tokens is not None and tokens <= steps:
        with pytest.raises(ConfigError, match="leaves no room"):
            settle(LaunchFlags(steps, tokens))
        return
    flags = LaunchFlags(steps, tokens)
    depths = settle(flags).depths
    assert len(depths) <= 5 and list(depths) == sorted(set(depths))
    assert {0, steps} <= set(depths)
    if flags.deepest is not None:
        assert depths[-1] == flags.deepest


def test_tokens_of_steps_plus_one_say_nothing():
    """SGLang wants them beside the steps, so they are no limit."""
    assert settle(LaunchFlags(3, 4)).depths[-1] == 7


def test_a_rule_keeps_its_own_depths():
    """``static`` its depth, ``sglang-ema`` its ladder."""
    assert 4 in settle(policy="static", depth=4).depths
    ladder = {"1": {"candidate_steps": [1, 2, 6]}}
    assert settle(LaunchFlags(2, 3), policy="sglang-ema", adaptive=ladder).depths == (1, 2, 6)


def test_flags_choose_among_the_files_candidates():
    """Start depth and start window by flag, the rest by file."""
    choices = settle(LaunchFlags(4, 5, 64), candidates=DEPTHS)
    assert choices.depths == (0, 2, 4) and choices.windows == (0, 64, 256) and choices.sink == 8
    assert choices.start_depth == 4 and choices.start_window == 64


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (LaunchFlags(3, 4), "--speculative-num-steps 3 is not among"),
        (LaunchFlags(2, 4), "wider than the launch"),
        (LaunchFlags(2, 3, 65), "65 is not among the policy's windows"),
        (LaunchFlags(2, 3, 64, 4), "contradicts the policy's sink 8"),
    ],
)
def test_contradictions_are_refused(flags, told):
    """Each names the flag and the file's part."""
    with pytest.raises(ConfigError, match=told):
        settle(flags, candidates=DEPTHS)


def test_extend_window_follows_the_windows():
    """On with a window unless the file or the backend says otherwise."""
    file = PolicyFile(policy="marginal")
    window = LaunchFlags(3, 4, 64)
    assert launched_policy(file, window).extend_window
    assert not launched_policy(file, LaunchFlags(3, 4)).extend_window
    assert not launched_policy(file, window, extend=False).extend_window
