"""Numbers as short text: sparklines, bars, counts of context tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LEVELS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def sparkline(accepted: Sequence[int], depths: Sequence[int]) -> str:
    """One character a round: what it accepted, on the scale of the deepest; a dot where nothing was drafted.

    >>> sparkline([0, 1, 3, 7, 0], [7, 7, 7, 7, 0])
    '▁▂▄█·'
    """
    top = max(depths, default=1)
    return "".join(
        _LEVELS[min(7, round(7 * count / top))] if depth else "·"
        for count, depth in zip(accepted, depths, strict=True)
    )


def levels(shares: Sequence[float]) -> str:
    """One character a share of 0..1; a dot where it is unknown.

    >>> levels([1.0, 0.5, float("nan")])
    '█▅·'
    """
    return "".join("·" if math.isnan(share) else _LEVELS[min(7, round(7 * share))] for share in shares)


def bar(share: float, cells: int) -> str:
    """A bar of ``share`` of ``cells`` characters, to an eighth of one.

    >>> bar(0.5, 3)
    '█▌'
    """
    full, rest = divmod(round(share * cells * 8), 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def tokens(count: int) -> str:
    """A token count in at most six characters; ``-`` where it is unknown.

    >>> [tokens(n) for n in (-1, 950, 12_345, 131_072, 1_048_576)]
    ['-', '950', '12.3K', '131K', '1.05M']
    """
    if count < 0:
        return "-"
    if count < 10_000:
        return str(count)
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 1000 * size else f"{count // size}{unit}"
    return str(count)


def window(size: int) -> str:
    """A draft window; 0 is the full context."""
    return "full" if size == 0 else tokens(size)


def known(value: float, form: str, unit: str = "") -> str:
    """A number with its unit, or ``-`` where it is unknown.

    >>> known(12.345, ".1f", " ms"), known(float("nan"), ".1f", " ms")
    ('12.3 ms', '-')
    """
    return f"{value:{form}}{unit}" if math.isfinite(value) else "-"
