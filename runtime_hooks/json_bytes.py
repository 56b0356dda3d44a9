"""JSON as bytes by the fastest encoder at hand; SGLang brings orjson, a plain Python has ``json``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

try:
    from orjson import dumps as _fast  # type: ignore[import-not-found]
except ImportError:
    _fast = None

Encode = Callable[[Any], bytes]


def _plain(value: Any) -> bytes:  # noqa: ANN401
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


#: One value as compact JSON without a line end; NaN must have become ``None`` before.
to_json: Encode = _fast or _plain
