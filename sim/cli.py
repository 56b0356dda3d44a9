"""The ``sim`` script: record-driven simulation of depth policies, one sub-command a module."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_depth.sim.commands import costs, fit_cost, import_, inspect, replay, synth
from adaptive_depth.traces.command_line import Command, execute, make_parser

COMMANDS: tuple[Command, ...] = (
    costs,
    fit_cost,
    import_,
    inspect,
    replay,
    synth,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``sim`` and return its exit code: 0 usable result, 2 nothing usable or a wrong argument."""
    description = "Replay acceptance traces of speculative decoding through draft-depth policies."
    return execute(make_parser("sim", description, COMMANDS), argv)
