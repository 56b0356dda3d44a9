"""Folds the records of a decision log, as they come, into snapshots."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adaptive_depth.runtime_hooks.live.request import Request
from adaptive_depth.runtime_hooks.live.snapshot import Decision, Link, Snapshot
from adaptive_depth.runtime_hooks.live.speedup import Baseline, Pace
from adaptive_depth.traces.decisions import STALE, Round
from adaptive_depth.traces.importers.base import Rejected
from adaptive_depth.traces.importers.decision_records import (
    check_version,
    is_header,
    read_config,
    read_late,
    read_round,
)
from adaptive_depth.traces.importers.fields import label

#: Rounds that averages are taken over, and that histograms and switches are counted over.
RECENT, HISTORY = 256, 1000
#: Rounds after which a request that no round shows is taken for gone.
ABSENT = 64
#: Seconds without news from a server with running requests until the picture counts as stale.
STALE_S = 5.0


@dataclass(slots=True)
class _Round:
    """What is kept of a round."""

    number: int
    depth: int
    switched: bool
    live: int
    emitted: int
    windows: Counter[int]
    steady: bool
    seconds: tuple[float, ...]


@dataclass
class Picture:
    """The state of one run as far as its records tell; feed it, then ask for a :meth:`snapshot`.

    >>> Picture().snapshot("nowhere", now=0.0).link
    <Link.IDLE: 'idle'>
    """

    model: str = "unknown"
    policy: str = "unknown"
    rounds: int = 0
    finished: int = 0
    failures: int = 0
    dropped: int = 0
    disabled: bool = False
    forced: int | None = None
    last_time: float = math.nan
    ended: bool = False
    bad_records: int = 0
    refusal: str = ""
    _last: Round | None = None
    _running: dict[str, Request] = field(default_factory=dict)
    _history: deque[_Round] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _paces: deque[Pace] = field(default_factory=lambda: deque(maxlen=RECENT))
    _decisions: deque[Decision] = field(default_factory=lambda: deque(maxlen=8))
    _baseline: Baseline = field(default_factory=Baseline)

    def feed(self, records: Iterable[object]) -> None:
        """Take records in their order; one that is no record is counted and passed over."""
        for record in records:
            try:
                self._take(record)
            except Rejected as reason:
                self.bad_records += 1
                if is_header(record):
                    self.refusal = str(reason)

    def snapshot(self, source: str, now: float) -> Snapshot:
        """The picture at ``now``, a Unix time."""
        age = max(0.0, now - self.last_time) if math.isfinite(self.last_time) else 0.0
        speedup, basis = self._baseline.speedup(self._paces)
        return Snapshot(
            link=self._link(age),
            source=source,
            age_s=age,
            model=self.model,
            policy=self.policy,
            rounds=self.rounds,
            finished=self.finished,
            depth=-1 if self._last is None else self._last.depth,
            batch=len(self._running),
            speedup=speedup,
            speedup_basis=basis,
            failures=self.failures,
            dropped=self.dropped,
            disabled=self.disabled,
            forced=self.forced,
            decisions=tuple(reversed(self._decisions)),
            requests=tuple(request.view(name) for name, request in self._running.items()),
            notes=tuple(self._notes()),
            **self._averages(),
            **self._counts(),
        )

    def _take(self, record: object) -> None:
        if not isinstance(record, dict):
            raise Rejected("expected an object")
        if is_header(record):
            self._configure(record)
        elif "round" in record:
            self._round(read_round(record))
        elif "trailer" in record:
            self._totals(record["trailer"])
            self.ended = bool(record.get("end"))
            return
        elif "late" in record:
            self._late(*read_late(record))
        else:
            self._event(record)
        self.ended = False

    def _configure(self, header: dict[str, Any]) -> None:
        check_version(header)
        config = read_config(header)
        backend, policy = (config.get(name) or {} for name in ("backend", "policy"))
        self.model = label(backend.get("model"), "unknown").rstrip("/").rpartition("/")[2]
        self.policy = label(policy.get("policy"), "unknown")
        self._baseline.configure(config)
        self._totals(header.get("counts"))

    def _totals(self, counts: object) -> None:
        if isinstance(counts, dict):
            self.dropped = int(counts.get("dropped", self.dropped))
            self.failures = max(self.failures, int(counts.get("faults", 0)))

    def _event(self, record: Mapping[str, Any]) -> None:
        if "forget" in record:
            names = record.get("rids")
            for name in names if isinstance(names, list) else ():
                self._gone(label(name, "unnamed"), record.get("why") != "retracted")
        elif record.get("control") == "force":
            self.forced = record.get("value")
        elif record.get("control") == "enable":
            self.disabled = not record.get("value")
        elif "fault" in record:
            self.failures = max(self.failures + 1, int(record.get("count") or 0))
            self.disabled = bool(record.get("disabled"))

    def _round(self, played: Round) -> None:
        live = [row for row in played.rows if row.state != STALE]
        steady = not played.marks and math.isfinite(played.seconds[0])
        for row in live:
            self._running.setdefault(row.rid, Request()).add(row, played.plan_id, played.seconds[0], steady)
        switched = played.before not in (-1, played.depth)
        if switched:
            self._decisions.append(Decision(played.plan_id, played.before, played.depth, played.reason))
        if steady and live:
            self._paces.append(self._baseline.pace(live, played.plan_id, played.depth, played.seconds[0]))
        windows = Counter(row.window for row in live)
        emitted = sum(row.emitted for row in live)
        self._history.append(
            _Round(
                played.plan_id, played.depth, switched, len(live), emitted, windows, steady, played.seconds
            )
        )
        self._last, self.last_time, self.rounds = played, played.time, played.plan_id + 1
        self._sweep()

    def _late(self, number: int, seconds: tuple[float, ...]) -> None:
        """Stages that ended after their round was told."""
        for kept in reversed(self._history):
            if kept.number == number:
                both = zip(kept.seconds, seconds, strict=True)
                kept.seconds = tuple(late if math.isfinite(late) else early for early, late in both)
            if kept.number <= number:
                return

    def _sweep(self) -> None:
        """Take off requests that no round has shown for long: their end was not seen."""
        for name in [n for n, r in self._running.items() if self.rounds - r.last_round > ABSENT]:
            del self._running[name]

    def _gone(self, name: str, for_good: bool) -> None:
        if self._running.pop(name, None) is not None and for_good:
            self.finished += 1

    def _link(self, age: float) -> Link:
        if self.ended:
            return Link.ENDED
        if not self._running:
            return Link.IDLE
        return Link.STALE if age > STALE_S else Link.LIVE

    def _averages(self) -> dict[str, Any]:
        recent = list(self._history)[-RECENT:]
        steady = [r for r in recent if r.steady] or recent
        live = sum(r.live for r in recent)
        kept, seconds = sum(p.emitted for p in self._paces), sum(p.seconds for p in self._paces)
        means = [_mean([r.seconds[i] for r in steady]) for i in range(5)]
        return {
            "accept_length": sum(r.emitted for r in recent) / live if live else math.nan,
            "tokens_per_second": kept / seconds if seconds else math.nan,
            "round_ms": means[0] * 1e3,
            "draft_ms": means[1] * 1e3,
            "verify_ms": means[2] * 1e3,
            "extend_ms": means[3] * 1e3,
            "plan_us": means[4] * 1e6,
        }

    def _counts(self) -> dict[str, Any]:
        windows: Counter[int] = Counter()
        for kept in self._history:
            windows += kept.windows
        switches = sum(kept.switched for kept in self._history)
        return {
            "depth_rounds": tuple(sorted(Counter(kept.depth for kept in self._history).items())),
            "window_rows": tuple(sorted(windows.items())),
            "switches_per_1000": switches * 1000 / len(self._history) if self._history else math.nan,
        }

    def _notes(self) -> Iterable[str]:
        if self.refusal:
            yield self.refusal
        elif self.bad_records:
            yield f"{self.bad_records} records could not be read"


def _mean(values: list[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan
