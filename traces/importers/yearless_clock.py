"""Times of log lines that state month, day and time of day, but no year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_STAMP = re.compile(r"\b\d\d-\d\d \d\d:\d\d:\d\d\b")
_YEAR = 366 * 86_400.0


@dataclass(slots=True)
class YearlessClock:
    """Seconds since an arbitrary origin; a step back of half a year or more is a new year.

    >>> clock = YearlessClock()
    >>> start = clock.seconds("INFO 12-31 23:59:59 x")
    >>> clock.seconds("INFO 01-01 00:00:09 x") - start
    10.0
    """

    _years: float = 0.0
    _last: float = 0.0

    def seconds(self, text: str) -> float:
        """The first stamp of ``text`` in seconds, NaN where there is none."""
        found = _STAMP.search(text)
        if found is None:
            return float("nan")
        try:  # a leap year, so that 29 February exists
            moment = (
                datetime.strptime("2000-" + found[0], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
            )
        except ValueError:
            return float("nan")
        if moment + self._years < self._last - _YEAR / 2:
            self._years += _YEAR
        self._last = moment + self._years
        return self._last
