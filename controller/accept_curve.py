"""Accept length by depth as a person states it, for tables that hold throughput alone."""

from __future__ import annotations

from collections.abc import Callable

from adaptive_depth.traces.errors import ConfigError, CostError

#: Tokens a round (bonus included) at a depth.
AcceptLength = Callable[[int], float]


def accept_curve(text: str) -> AcceptLength:
    """Accept length by depth from ``0.7`` (each next draft is accepted with this chance) or
    ``1=1.7,2=2.2``.
    """
    try:
        if "=" not in text:
            return _Chain(float(text))
        pairs = (part.split("=") for part in text.split(","))
        return _Listed({int(depth): float(length) for depth, length in pairs})
    except ValueError as error:
        reason = f"acceptance {text!r}: give a chance within 0..1, or accept lengths by depth as 1=1.7,2=2.2"
        raise ConfigError(f"{reason} ({error})") from None


class _Chain:
    """Accept length of drafts that are each accepted with one chance."""

    def __init__(self, chance: float) -> None:
        if not 0 <= chance <= 1:
            raise ValueError(f"{chance:g} is not within 0..1")
        self._chance = chance

    def __call__(self, depth: int) -> float:
        """1 + c + c² + ... + c^depth."""
        return sum(self._chance**j for j in range(depth + 1))


class _Listed:
    """Accept lengths as given."""

    def __init__(self, lengths: dict[int, float]) -> None:
        for depth, length in lengths.items():
            if not 1 <= length <= depth + 1:
                raise ValueError(f"accept length {length:g} at depth {depth} is not within 1..{depth + 1}")
        self._lengths = {0: 1.0, **lengths}

    def __call__(self, depth: int) -> float:
        """The length of this depth."""
        if depth not in self._lengths:
            raise CostError(f"no accept length is given for depth {depth} of the table")
        return self._lengths[depth]
