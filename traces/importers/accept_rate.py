"""What a printed ``accept rate`` of SGLang can mean, used only to find the depth of a log that does not
state it.

Its definition changed: B (early October 2025) accept length / steps, which can exceed 1; C accept length /
(steps + 1); D, now, (accept length - 1) / steps. Before that (A) it was not printed. Both numbers are
rounded to two decimals, so a pair usually fits several readings; only what is left when every line of a
stream has been tried is believed, and only if it is a single reading. The printed rate itself is never
stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_DEEPEST = 64
_HALF = 0.005 + 1e-9
#: Logs of these days may have been printed by a B or a C build.
B_DAYS = ("2025-09-20", "2025-10-31")


@dataclass(slots=True)
class EraFinder:
    """Narrow the readings of a stream line by line.

    >>> finder = EraFinder()
    >>> finder.add(2.47, 0.82)
    >>> finder.reading()
    ('C', 2)
    """

    #: Steps k that fit every line as (AL - 1) / k.
    _shifted: set[int] = field(default_factory=lambda: set(range(1, _DEEPEST + 1)))
    #: Divisors n that fit every line as AL / n.
    _plain: set[int] = field(default_factory=lambda: set(range(1, _DEEPEST + 2)))
    _lines: int = 0
    _above_one: bool = False
    _b_possible: bool = False

    def add(self, accept_length: float, rate: float, day: str = "") -> None:
        """Take a line's two numbers and its ``YYYY-MM-DD`` (empty if unknown)."""
        self._lines += 1
        self._above_one |= rate > 1 + _HALF
        self._b_possible |= B_DAYS[0] <= day <= B_DAYS[1]
        self._shifted = {k for k in self._shifted if _fits(accept_length - 1, k, rate)}
        self._plain = {n for n in self._plain if _fits(accept_length, n, rate)}

    def reading(self) -> tuple[str, int] | None:
        """The era and the drafted steps k, or ``None`` where more or less than one reading fits."""
        if not self._lines:
            return None
        readings = [("D", k) for k in self._shifted]
        if self._above_one or self._b_possible:
            readings += [("B", n) for n in self._plain]
        if not self._above_one:
            readings += [("C", n - 1) for n in self._plain if n > 1]
        return readings[0] if len(readings) == 1 else None


def _fits(amount: float, divisor: int, rate: float) -> bool:
    """Whether ``amount / divisor`` can print as ``rate`` when both are rounded to two decimals."""
    return (amount - _HALF) / divisor <= rate + _HALF and (amount + _HALF) / divisor >= rate - _HALF
