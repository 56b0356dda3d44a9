"""Strict reading of numbers and names out of parsed JSON; what is wrong is rejected by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.traces.importers.base import Rejected
from adaptive_depth.traces.records import I64

#: The deepest chain a trace header can state.
DEEPEST = 127
#: Rounds of one request; an output of 1M tokens has at most as many.
ROUNDS_LIMIT = 1 << 21
_HUGE = 1 << 40
_TEXT_LIMIT = 120


def whole(value: object, name: str, low: int = 0, high: int = _HUGE) -> int:
    """A whole number within ``low..high``; ``2.0`` passes, ``true``, ``2.5``, NaN and text do not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Rejected(f"{name} is {_shown(value)}, expected a whole number")
    if isinstance(value, float) and not value.is_integer():
        raise Rejected(f"{name} is {value}, expected a whole number")
    if not low <= value <= high:
        raise Rejected(f"{name} is {_shown(value)}, expected {low}..{high}")
    return int(value)


def wholes(value: object, name: str, low: int = 0, high: int = _HUGE) -> I64:
    """A list of whole numbers as i64[N]; an empty list is refused: empty is not zero."""
    if not isinstance(value, list):
        raise Rejected(f"{name} is {_shown(value)}, expected a list")
    if not value:
        raise Rejected(f"{name} is empty: no rounds to import")
    if set(map(type, value)) == {int} and low <= min(value) and max(value) <= high:
        return np.array(value, np.int64)
    return np.array([whole(v, f"{name}[{i}]", low, high) for i, v in enumerate(value)], np.int64)


def number(value: object, name: str, low: float = 0.0) -> float:
    """A finite number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Rejected(f"{name} is {_shown(value)}, expected a number")
    if not math.isfinite(value):
        raise Rejected(f"{name} is {value}, expected a finite number")
    if not low <= value <= _HUGE:
        raise Rejected(f"{name} is {_shown(value)}, expected {low:g} or more")
    return float(value)


def numbers(value: object, name: str) -> npt.NDArray[np.float64]:
    """A list of finite numbers as f64[N]."""
    if not isinstance(value, list):
        raise Rejected(f"{name} is {_shown(value)}, expected a list")
    return np.array([number(v, f"{name}[{i}]") for i, v in enumerate(value)], np.float64)


def section(value: object, name: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise Rejected(f"{name} is {_shown(value)}, expected an object")
    return value


def label(value: object, otherwise: str) -> str:
    """A name fit for a table and a file: printable, bounded; ``otherwise`` where there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return otherwise
    text = "".join(c if c.isprintable() else "?" for c in str(value)[:_TEXT_LIMIT]).strip()
    return text or otherwise


def _shown(value: object) -> str:
    """A value in an error message, cut short."""
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _HUGE:
        return "a huge number"
    return repr(value)[:40]
