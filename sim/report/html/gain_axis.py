"""The axis that the regret figures share: speed against the best static depth, in percent."""

from __future__ import annotations

import math

from adaptive_depth.sim.replay_report import ReplayRow
from adaptive_depth.sim.report.replay_cells import clean, known

AXIS = "speed against best static, %"
#: A loss beyond this many times the span of the gains is cut off, so that the gains stay readable.
_LOSS_SHOWN = 1.5
_POINTS_PER_LETTER = 5.1


def gain(row: ReplayRow) -> float:
    """Speed of a row against the best static depth, in percent."""
    return 100 * (row.vs_best_static or 0.0)


def interval_ends(row: ReplayRow) -> list[float]:
    """The interval's two ends in percent; empty where there is none."""
    ends = [known(end) for end in row.ci95 or ()]
    return [100 * end for end in ends if end is not None]


def has_gain(row: ReplayRow) -> bool:
    """Whether the row can be placed on the axis; the best static itself, its zero, needs no mark."""
    return bool(known(row.vs_best_static)) or (row.role != "hindsight" and row.vs_best_static == 0)


def limits(rows: list[ReplayRow], reach: float = math.inf) -> tuple[float, float]:
    """The span of the axis in percent: every gain, and losses as far as they leave the gains readable.

    A bound that needs the future counts only up to ``reach`` times the policies' own span beyond them.
    """
    policies = [row for row in rows if row.role != "hindsight"]
    own = [0.0, 1.0, *map(gain, policies), *(end for row in policies for end in interval_ends(row))]
    bounds = [gain(row) for row in rows if row.role == "hindsight"]
    low = max(min([*own, *bounds]), -_LOSS_SHOWN * max([*own, *bounds]))
    furthest = max(own) + reach * (max(own) - low)
    high = max([*own, *(bound for bound in bounds if bound <= furthest)])
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def short(name: str, letters: int) -> str:
    """A name as it stands beside a plot: long ones lose their middle, for the ends tell names apart."""
    name = clean(name)
    if len(name) <= letters:
        return name
    return name[: letters // 2] + "…" + name[len(name) - (letters - letters // 2 - 1) :]


def names_width(names: list[str]) -> float:
    """Points that the names left of a plot take."""
    return 12 + _POINTS_PER_LETTER * max(map(len, names))
