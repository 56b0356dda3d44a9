"""Names of trace sets, made from file names and safe as file names themselves."""

from __future__ import annotations

import re
from pathlib import Path

from adaptive_depth.traces.importers.fields import label

_ENDINGS = re.compile(r"(\.(jsonl?|ndjson|log|txt|out))+$", re.IGNORECASE)
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
_LIMIT = 100


def set_name(path: Path) -> str:
    """The file's name without its ending, with odd characters replaced.

    >>> set_name(Path("runs/cnn eagle.jsonl"))
    'cnn_eagle'
    """
    return safe(_ENDINGS.sub("", path.name))


def source(path: Path) -> str:
    """The file's name for a header's provenance: printable, whatever bytes it has."""
    return label(path.name, "unnamed")


def safe(name: str) -> str:
    """``name`` reduced to letters, digits and ``._+-``; never empty, never hidden."""
    return _UNSAFE.sub("_", name)[:_LIMIT].strip("._") or "trace"
