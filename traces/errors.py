"""Every error this package raises on purpose.

The tree::

    AdaptiveDepthError
    ├── ConfigError               a policy file, flag or parameter that cannot be used
    ├── CostError                 a cost table or fit that cannot be used
    ├── TraceFormatError          a trace or log that is not what it should be (path, line, reason)
    │   └── UnsupportedTraceVersion   written by a newer schema than this reader knows
    └── HookTargetError           an SGLang attribute that is missing or has another signature

A message says what is wrong, where, and what would be allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AdaptiveDepthError(Exception):
    """Root of all errors raised on purpose; a command turns it into one line and exit code 2."""


class ConfigError(AdaptiveDepthError):
    """A policy file, flag or parameter that cannot be used."""


class CostError(AdaptiveDepthError):
    """A cost table or a cost fit that cannot be used."""


class HookTargetError(AdaptiveDepthError):
    """A hooked SGLang attribute is missing or its signature differs."""


class TraceFormatError(AdaptiveDepthError):
    """A trace or log is not what it should be.

    ``line`` counts from 1 and is 0 where the fault has no line (a binary file, a directory).
    """

    def __init__(self, path: object, line: int, reason: str) -> None:
        self.path, self.line, self.reason = str(path), line, reason
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")


class UnsupportedTraceVersion(TraceFormatError):
    """The file was written by a newer schema; both versions are in the message."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` or ``; known: a, b`` for an unknown ``name``.

    >>> did_you_mean("marginl", ["static", "marginal"])
    " (did you mean 'marginal'?)"
    >>> did_you_mean("zzz", ["a", "b"])
    '; known: a, b'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else "; known: " + ", ".join(names)
