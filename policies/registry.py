"""The registry of rules: one name, one frozen config, one class.

``Policy`` is the interface every rule meets. A rule is built for fixed :class:`Candidates`; it keeps only its
own state, keyed by group or slot. It may not read a clock, a file, the environment or a global random state.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy.typing as npt

from adaptive_depth.policies.types import BatchView, Candidates, Estimates, Plan, RoundResult
from adaptive_depth.traces.errors import ConfigError, did_you_mean


@runtime_checkable
class Policy(Protocol):
    """A rule. ``plan`` may not learn, ``observe`` may not decide.

    A rule that keeps its own statistics sets ``uses_survival = False`` and is spared the estimator's cost;
    ``estimates.survival`` is then empty.
    """

    uses_survival: bool
    #: False where ``observe`` does nothing.
    learns: bool

    def plan(self, batch: BatchView, estimates: Estimates) -> Plan:
        """Choose a depth per group and a window per row; inputs are not changed."""

    def observe(self, result: RoundResult) -> None:
        """Take one round's outcome; it may come late, or never."""

    def forget(self, slots: npt.NDArray[Any]) -> None:
        """Drop what is kept for these slots; their requests are gone."""

    def state_dict(self) -> dict[str, Any]:
        """The rule's state as plain arrays and numbers."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered rule."""

    name: str
    config_type: type[Any]
    factory: Callable[[Any, Candidates], Policy]
    summary: str


_REGISTRY: dict[str, Entry] = {}
C = TypeVar("C", bound=type[Any])


def register(name: str, config_type: type[Any]) -> Callable[[C], C]:
    """Class decorator: make ``cls(config, candidates)`` available as ``name``; a duplicate raises."""

    def decorate(cls: C) -> C:
        if name in _REGISTRY:
            raise KeyError(f"policy {name!r} is already registered")
        summary = (cls.__doc__ or "").strip().splitlines()[0]
        _REGISTRY[name] = Entry(name, config_type, cls, summary)
        return cls

    return decorate


def entries() -> tuple[Entry, ...]:
    """Every registered rule, in order of registration."""
    return tuple(_REGISTRY.values())


def entry(name: str) -> Entry:
    """The entry called ``name``; :class:`ConfigError` names the nearest known one otherwise."""
    if name not in _REGISTRY:
        raise ConfigError(f"unknown policy {name!r}{did_you_mean(name, _REGISTRY)}")
    return _REGISTRY[name]


def make_config(name: str, parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401 - each rule has its own type
    """The rule's frozen config from JSON values; unknown keys and wrong types are :class:`ConfigError`."""
    config_type = entry(name).config_type
    fields = {f.name: f for f in dataclasses.fields(config_type)}
    for key in parameters:
        if key not in fields:
            raise ConfigError(f"policy {name!r} has no parameter {key!r}{did_you_mean(key, fields)}")
    from pydantic import TypeAdapter, ValidationError

    try:
        # As JSON, so that a strict check still takes a list for a tuple, but no text or true for a number.
        return TypeAdapter(config_type).validate_json(json.dumps(dict(parameters)), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"parameter {part!r}: " for part in first["loc"][:1])
        raise ConfigError(f"policy {name!r}: {where}{first['msg'].removeprefix('Value error, ')}") from None
    except TypeError as error:
        raise ConfigError(f"policy {name!r}: {error}") from None


def make_policy(name: str, config: Any, candidates: Candidates) -> Policy:  # noqa: ANN401 - see make_config
    """Build the rule."""
    return entry(name).factory(config, candidates)
