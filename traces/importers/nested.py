"""Statistics buried in response JSON, and what the objects around them say about the request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from adaptive_depth.traces.importers.fields import label, section, whole
from adaptive_depth.traces.records import UNKNOWN

_DEEP, _NODES = 12, 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """An object with statistics and the objects around it, nearest first."""

    stats: dict[str, Any]
    around: tuple[dict[str, Any], ...] = field(default=())

    def look_up(self, *names: str) -> object:
        """The nearest value under the first of ``names`` that is given anywhere.

        The usage counts of a response with several choices belong to none of them and are passed over.
        """
        places = (self.stats, *self.around)
        holders = [h for place in places for h in (place, _usage(place), place.get("sampling_params"))]
        known = [holder for holder in holders if isinstance(holder, dict)]
        return next((h[name] for name in names for h in known if h.get(name) is not None), None)

    def count(self, *names: str) -> int | None:
        """The nearest whole number under one of ``names``, or ``None``."""
        value = self.look_up(*names)
        return None if value is None else whole(value, names[0])

    def context(self) -> int:
        """Prompt tokens, -1 unknown."""
        found = self.count("prompt_tokens", "num_prompt_tokens")
        return UNKNOWN if found is None else found

    def stop_reason(self) -> str:
        """``finish_reason`` as a word; SGLang nests it under ``type``."""
        value = self.look_up("finish_reason")
        return label(value.get("type") if isinstance(value, dict) else value, "unknown")

    def name(self, otherwise: str) -> str:
        """The request's id."""
        return label(self.look_up("id", "rid", "request_id", "request_index", "index"), otherwise)


def find(record: object, wanted: Callable[[dict[str, Any]], bool]) -> Iterator[Found]:
    """Yield the objects that are ``wanted``, outermost first; nothing inside one is looked at again.

    Siblings that say the same (statistics repeated under two names) count once. The search is bounded, so a
    hostile record cannot make it long.
    """
    root = section(record, "record")
    stack: list[tuple[dict[str, Any], tuple[dict[str, Any], ...]]] = [(root, ())]
    seen = 0
    while stack and seen < _NODES:
        seen += 1
        place, around = stack.pop()
        if wanted(place):
            yield Found(place, around)
        elif len(around) < _DEEP:
            stack += [(child, (place, *around)) for child in reversed(_children(place, wanted))]


def _children(place: dict[str, Any], wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    children: list[dict[str, Any]] = []
    direct: list[dict[str, Any]] = []
    for value in place.values():
        if isinstance(value, dict) and not (wanted(value) and value in direct):
            children.append(value)
            direct.append(value)
        elif isinstance(value, list):
            children += [item for item in value if isinstance(item, dict)]
    return children


def _usage(place: dict[str, Any]) -> dict[str, Any] | None:
    choices, usage = place.get("choices"), place.get("usage")
    shared = isinstance(choices, list) and len(choices) > 1
    return usage if isinstance(usage, dict) and not shared else None
