"""Per-group arrays: defaults, growth, and refusing a state that does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive_depth.policies.group_state import GroupState


def make() -> GroupState:
    return GroupState(depth=3, regret=0.5, seen=np.ones((2, 3), np.float32))


def test_new_groups_start_with_the_defaults_and_old_ones_keep_theirs():
    """Growing fills only what is new, and keeps every type."""
    state = make()
    state["depth"][2], state["seen"][2] = 9, 7.0
    state.reserve(np.array([2, 1000]))
    assert (state["depth"][2], state["depth"][1000], state["regret"][1000]) == (9, 3, 0.5)
    assert state["seen"][2].sum() == 42 and state["seen"][1000].sum() == 6
    assert (state["depth"].dtype, state["regret"].dtype, state["seen"].dtype) == (np.int64, float, np.float32)


def test_a_state_is_a_copy_and_comes_back():
    """What is saved does not change afterwards, and loading does not share memory with it."""
    state, other = make(), make()
    state["seen"][1] = 5.0
    saved = state.state_dict()
    state["seen"][1] = 6.0
    other.load_state(saved)
    other["seen"][0] = 0.0
    assert saved["seen"][1].sum() == 30 and saved["seen"][0].sum() == 6 and other["seen"][1].sum() == 30


@pytest.mark.parametrize(
    "change",
    [
        {"depth": np.zeros(3, int)},
        {"depth": np.zeros(())},
        {"seen": np.zeros((16, 3, 2), np.float32)},
        {"regret": np.zeros((16, 1))},
    ],
    ids=str,
)
def test_a_state_of_another_shape_is_refused(change):
    """A ValueError, and the state stays as it was."""
    state = make()
    with pytest.raises(ValueError, match="shapes"):
        state.load_state({**state.state_dict(), **change})
    assert state["depth"][0] == 3


def test_a_state_without_an_array_is_refused():
    """The missing names are told."""
    state = make()
    saved = state.state_dict()
    del saved["regret"]
    with pytest.raises(ValueError, match="regret"):
        state.load_state(saved)
