"""The ``adaptive-depth`` script: the commands that go with a server. Imports neither sglang nor torch."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_depth.runtime_hooks import doctor, list_policies, watch
from adaptive_depth.traces.command_line import Command, execute, make_parser

COMMANDS: tuple[Command, ...] = (doctor, list_policies, watch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``adaptive-depth`` and return its exit code."""
    description = "Adaptive draft depth and window for SGLang speculative decoding."
    return execute(make_parser("adaptive-depth", description, COMMANDS), argv)
