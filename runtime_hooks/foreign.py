"""A name for what belongs to SGLang, torch or Triton, which this project neither installs nor types."""

from __future__ import annotations

from typing import Any, TypeAlias

#: An object of theirs.
Foreign: TypeAlias = Any
