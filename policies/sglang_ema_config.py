"""SGLang's own adaptive JSON, as ``--speculative-adaptive-config`` takes it, and what its slots mean."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from adaptive_depth.traces.errors import ConfigError

#: What SGLang 0.5.23 runs without a file.
STOCK: dict[str, Any] = {
    "1": {"candidate_steps": [1, 3, 5, 7]},
    "8": {"candidate_steps": [0, 1, 3], "down_hysteresis": 0.0},
    "32": {"candidate_steps": [0, 1], "down_hysteresis": 0.0},
    "64": {"candidate_steps": [0], "down_hysteresis": 0.0},
}


#: Slots are looked up in 32 bits.
MAX_BATCH = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EmaSlot:
    """One ladder: the depths it may take, ascending, and how it moves between them."""

    candidate_steps: tuple[int, ...]
    ema_alpha: float = 0.2
    update_interval: int = 5
    warmup_batches: int = 10
    down_hysteresis: float = -0.25
    up_hysteresis: float = 0.0
    ceiling_coeff: float = 0.0

    def __post_init__(self) -> None:
        if not self.candidate_steps or list(self.candidate_steps) != sorted(set(self.candidate_steps)):
            raise ConfigError(f"candidate_steps must ascend without repeats, got {self.candidate_steps}")
        if self.candidate_steps[0] < 0 or self.candidate_steps[-1] > 127:
            raise ConfigError(f"candidate_steps must be 0..127, got {self.candidate_steps}")
        if not 0.0 <= self.ema_alpha <= 1.0:
            raise ConfigError(f"ema_alpha must be in [0, 1], got {self.ema_alpha}")
        if self.update_interval < 1 or self.warmup_batches < 0:
            raise ConfigError("update_interval must be at least 1 and warmup_batches at least 0")
        for name in ("down_hysteresis", "up_hysteresis", "ceiling_coeff"):
            if not math.isfinite(getattr(self, name)):
                raise ConfigError(f"{name} must be finite, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangEmaConfig:
    """``adaptive`` is SGLang's JSON object, unchanged; ``None`` is the stock default.

    ``cuda_graph_bs`` are the graph batch sizes the operator typed at launch: a batch is padded up to one of
    them before its slot is looked up. Empty, as it is unless they were typed, pads nothing.
    """

    adaptive: dict[str, Any] | None = None
    cuda_graph_bs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        parse_adaptive(STOCK if self.adaptive is None else self.adaptive)
        if any(size < 1 for size in self.cuda_graph_bs):
            raise ConfigError(f"cuda_graph_bs must be 1 or more, got {self.cuda_graph_bs}")

    @property
    def slots(self) -> dict[int, EmaSlot]:
        """Ladder by smallest batch size, ascending."""
        return parse_adaptive(STOCK if self.adaptive is None else self.adaptive)

    @property
    def depths(self) -> tuple[int, ...]:
        """Every depth the ladders may take, ascending: what a controller's candidates have to contain."""
        return tuple(sorted({step for slot in self.slots.values() for step in slot.candidate_steps}))


def read_adaptive_json(path: str | Path) -> dict[str, Any]:
    """The JSON object in ``path``; :class:`ConfigError` where the file cannot be read or is no slot table."""
    try:
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot read SGLang's adaptive JSON: {error}") from None
    try:
        parse_adaptive(raw)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return dict(raw)


def parse_adaptive(raw: Mapping[str, Any]) -> dict[int, EmaSlot]:
    """Ladders by smallest batch size.

    Keys of digits are slots, each with its own ``candidate_steps``; any other known key is the default of all
    slots, and an unknown one (``_comment``) is ignored, as SGLang does. Without a slot, ``candidate_steps``
    at the top is the flat form of older versions: one ladder for every batch size.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"SGLang's adaptive JSON must be an object, got {type(raw).__name__}")
    keyed = {int(key): value for key, value in raw.items() if key.isdecimal() and key.isascii()}
    if not keyed and "candidate_steps" in raw:
        keyed = {1: raw}
    if not keyed:
        raise ConfigError(
            'SGLang\'s adaptive JSON needs a batch size such as "1" as a key, or candidate_steps at the top'
        )
    if max(keyed) > MAX_BATCH:
        raise ConfigError(f"adaptive slot {max(keyed)}: the batch size must be at most {MAX_BATCH}")
    shared = {key: value for key, value in raw.items() if key != "candidate_steps"}
    return {size: _slot(size, shared, keyed[size]) for size in sorted(keyed)}


def _slot(size: int, shared: Mapping[str, Any], own: Any) -> EmaSlot:  # noqa: ANN401
    where = f"adaptive slot {size}"
    if not isinstance(own, Mapping):
        raise ConfigError(f"{where}: expected an object, got {type(own).__name__}")
    steps = own.get("candidate_steps")
    if not isinstance(steps, list | tuple) or not steps or not all(type(step) is int for step in steps):
        raise ConfigError(f"{where}: candidate_steps must be a list of whole numbers, got {steps!r}")
    merged, numbers = {**shared, **own}, {}
    for field in fields(EmaSlot)[1:]:
        if field.name in merged:
            numbers[field.name] = _number(where, field.name, merged[field.name], whole=field.type == "int")
    try:
        return EmaSlot(candidate_steps=tuple(sorted(set(steps))), **numbers)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _number(where: str, name: str, value: Any, *, whole: bool) -> Any:  # noqa: ANN401
    if type(value) is int or (type(value) is float and not whole):
        return value
    raise ConfigError(f"{where}: {name} must be {'a whole number' if whole else 'a number'}, got {value!r}")
