"""Sorts the rows of a replay into tables: by origin, then by set and cost, then by role."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adaptive_depth.sim.replay_report import ReplayReport, ReplayRow, Role

#: What an origin means; sets of different origins are never shown in one table nor averaged.
ORIGINS = {
    "recorded": "written by the recorder of a running server",
    "imported": "converted from files that others published",
    "synthetic": "generated to match published tables, NOT measured",
}
_STATIC_DEPTH = re.compile(r"static:([0-9]+)")


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one trace set at one cost, fastest first within a role (the ladder: shallowest first)."""

    policies: list[ReplayRow]
    played: list[ReplayRow]
    #: One row a depth, at its fastest window.
    ladder: list[ReplayRow]
    hindsight: list[ReplayRow]

    @property
    def rows(self) -> list[ReplayRow]:
        """Every row in the order of the table; never empty."""
        return [*self.policies, *self.played, *self.ladder, *self.hindsight]

    @property
    def head(self) -> ReplayRow:
        """Any row: for what all of them share (set, origin, cost, context, batch)."""
        return self.rows[0]

    @property
    def best_policy(self) -> ReplayRow | None:
        """The fastest policy that could run in the server, if any could be replayed."""
        return self.policies[0] if self.policies and self.policies[0].tokens_per_second is not None else None


def sections(report: ReplayReport) -> dict[str, list[Section]]:
    """Origin -> its sections in the order of the report; origins in the order of :data:`ORIGINS`."""
    groups: dict[tuple[str, str, str, int, int], list[ReplayRow]] = {}
    for row in report.rows:
        key = (row.origin, row.trace_set, row.cost, row.context, row.batch)
        groups.setdefault(key, []).append(row)
    order = [*ORIGINS, *sorted({key[0] for key in groups} - set(ORIGINS))]
    found = {origin: [_section(rows) for key, rows in groups.items() if key[0] == origin] for origin in order}
    return {origin: members for origin, members in found.items() if members}


def _section(rows: list[ReplayRow]) -> Section:
    def of(role: Role) -> list[ReplayRow]:
        return sorted((row for row in rows if row.role == role), key=_slowness)

    return Section(of("policy"), of("played"), _best_window_per_depth(of("ladder")), of("hindsight"))


def _slowness(row: ReplayRow) -> float:
    """Ascends from the fastest row; rows without a rate come last."""
    return -(row.tokens_per_second or 0.0)


def _best_window_per_depth(fastest_first: list[ReplayRow]) -> list[ReplayRow]:
    best: dict[int, ReplayRow] = {}
    for row in fastest_first:
        best.setdefault(static_depth(row), row)
    return [best[depth] for depth in sorted(best)]


def static_depth(row: ReplayRow) -> int:
    """The depth of a ladder row: what it played, else what its name says; -1 where neither tells."""
    if len(row.depth_histogram) == 1:
        return next(iter(row.depth_histogram))
    named = _STATIC_DEPTH.match(row.policy)
    return int(named.group(1)) if named else -1
