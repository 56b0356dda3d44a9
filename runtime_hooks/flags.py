"""The command-line flags, their environment twins, and how they reach the scheduler process."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.traces.errors import ConfigError

#: Underscore attribute of SGLang's ServerArgs record: it is no field, and is pickled to the scheduler with
#: it.
CARRIER = "_adaptive_depth"
ENVIRONMENT = "ADAPTIVE_DEPTH"
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Options:
    """What the operator asked for: a policy by name or file, and a folder for the decision log."""

    policy: str | None = None
    log: str | None = None


def add_flags(_result: None, parser: argparse.ArgumentParser) -> None:
    """Hook after ``ServerArgs.add_cli_args``: declare the flags, for ``--config`` files too."""
    group = parser.add_argument_group("adaptive depth")
    group.add_argument(
        "--adaptive-depth",
        action="store_true",
        help="choose draft depth and window anew before every decode round (EAGLE, EAGLE3, NEXTN)",
    )
    group.add_argument(
        "--adaptive-depth-config",
        metavar="POLICY",
        help="a policy file (policy.json) or the name of a rule, NAME[:PARAMS]; default: marginal",
    )
    group.add_argument(
        "--adaptive-depth-log",
        metavar="DIR",
        help="write every round's decision and outcome to this folder, as JSON Lines",
    )


def stash_flags(original: Callable[..., Any], cls: type[Any], namespace: argparse.Namespace) -> Foreign:
    """Hook around ``ServerArgs.from_cli_args``: keep the flags beside the record's own fields."""
    server_args = original(cls, namespace)
    options = _from_namespace(namespace)
    if options is not None:
        setattr(server_args, CARRIER, options)
    return server_args


def options_of(server_args: object, environment: Mapping[str, str] = os.environ) -> Options | None:
    """What was asked for, by flag or else by environment; ``None`` where adaptive depth is off.

    :class:`ConfigError` for a variable that is neither yes nor no, or a setting without the switch.
    """
    return getattr(server_args, CARRIER, None) or _from_environment(environment)


def _from_namespace(namespace: argparse.Namespace) -> Options | None:
    """The flags; a flag that would have no effect ends the launch at once, like argparse does."""
    policy = getattr(namespace, "adaptive_depth_config", None)
    log = getattr(namespace, "adaptive_depth_log", None)
    if getattr(namespace, "adaptive_depth", False):
        return Options(policy, log)
    if (policy or log) and not _is_on(os.environ):
        name = "--adaptive-depth-config" if policy else "--adaptive-depth-log"
        raise SystemExit(f"adaptive-depth: {name} has no effect without --adaptive-depth: add it")
    return Options(policy, log) if policy or log else None


def _from_environment(environment: Mapping[str, str]) -> Options | None:
    if not _is_on(environment):
        return None
    config, log = environment.get(f"{ENVIRONMENT}_CONFIG"), environment.get(f"{ENVIRONMENT}_LOG")
    return Options(config or None, log or None)


def _is_on(environment: Mapping[str, str]) -> bool:
    word = environment.get(ENVIRONMENT, "").lower()
    if word not in (*_TRUE, *_FALSE):
        raise ConfigError(f"{ENVIRONMENT}={word!r}: expected 1 or 0")
    return word in _TRUE
