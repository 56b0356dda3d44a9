"""A rule and its parameters as one word of a command line: ``NAME[:PARAMS]``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adaptive_depth.policies.registry import entry, make_config
from adaptive_depth.policies.sglang_ema_config import read_adaptive_json
from adaptive_depth.traces.errors import ConfigError

_INTEGER = re.compile(r"[-+]?[0-9]+")
_REAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_STATIC = re.compile(r"(?P<depth>[0-9]+)?(@(?P<window>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A registered rule's name and the parameters to build it with; ``text`` is how the user wrote it."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    def config(self) -> Any:  # noqa: ANN401
        """The rule's frozen config; :class:`ConfigError` for parameters it does not take."""
        return make_config(self.name, self.parameters)


def parse_spec(text: str) -> PolicySpec:
    """Read ``NAME[:PARAMS]``.

    PARAMS are ``key=value,key=value``; two rules have a short form as well: ``static:DEPTH[@WINDOW]`` and
    ``sglang-ema:FILE``, SGLang's own adaptive JSON. The parameters are checked against the rule's config.
    Raises :class:`ConfigError` naming the part at fault and the nearest known name.

    >>> parse_spec("static:3@4032").parameters
    {'depth': 3, 'window': 4032}
    >>> parse_spec("bandit:discount=0.95,dwell=4").parameters
    {'discount': 0.95, 'dwell': 4}
    """
    name, colon, rest = text.partition(":")
    entry(name)
    if colon and not rest:
        raise ConfigError(f"policy {text!r}: nothing follows the colon")
    short = _SHORT_FORMS.get(name)
    parameters = short(rest) if short and rest else None
    spec = PolicySpec(name, _keyed(text, rest) if parameters is None else parameters, text)
    spec.config()
    return spec


def _keyed(text: str, rest: str) -> dict[str, Any]:
    """``key=value,key=value`` as a mapping."""
    parameters: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise ConfigError(f"policy {text!r}: expected key=value, got {part!r}")
        if key in parameters:
            raise ConfigError(f"policy {text!r}: {key!r} is given twice")
        parameters[key] = _value(text, key, value)
    return parameters


def _value(text: str, key: str, value: str) -> int | float | bool | str:
    """A number, ``true``, ``false`` or a plain word; anything else is refused rather than guessed."""
    if _INTEGER.fullmatch(value):
        return int(value)
    if _REAL.fullmatch(value):
        return float(value)
    if value in ("true", "false"):
        return value == "true"
    if _WORD.fullmatch(value):
        return value
    raise ConfigError(f"policy {text!r}: {key!r} is neither a number, true, false nor a word: {value!r}")


def _static_form(rest: str) -> dict[str, Any] | None:
    """``DEPTH``, ``DEPTH@WINDOW`` or ``@WINDOW``."""
    match = _STATIC.fullmatch(rest)
    return None if match is None else {k: int(v) for k, v in match.groupdict().items() if v is not None}


def _sglang_form(rest: str) -> dict[str, Any]:
    """``FILE``, read here and now."""
    return {"adaptive": read_adaptive_json(rest)}


_SHORT_FORMS: dict[str, Callable[[str], dict[str, Any] | None]] = {
    "static": _static_form,
    "sglang-ema": _sglang_form,
}
