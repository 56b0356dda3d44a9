"""Every registered rule, as a parameter."""

from __future__ import annotations

import pytest

from adaptive_depth.policies.registry import entries


@pytest.fixture(params=[entry.name for entry in entries()])
def rule_name(request) -> str:
    """The name of each rule in turn."""
    return request.param
