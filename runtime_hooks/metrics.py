"""Prometheus counters in SGLang's naming, published from the counts by a thread of its own.

Counters, not averages: a rate over any interval can be formed from them. Publishing on the decode loop would
cost it a memory-mapped write for each of them in every round; differences twice a second cost it nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime

PREFIX = "sglang:adaptive_depth_"
PERIOD_S = 0.5

#: Name, help and the label that splits it, if any; Prometheus scrapes the name with ``_total`` behind it.
COUNTERS: tuple[tuple[str, str, str | None], ...] = (
    ("rounds", "Decode rounds by the depth they ran at.", "depth"),
    ("proposed_tokens", "Draft tokens verified, at the true depth of each round.", None),
    ("accepted_tokens", "Draft tokens accepted, without the bonus token.", None),
    ("emitted_tokens", "Tokens kept by requests.", None),
    ("switches", "Changes of depth by the reason of the decision.", "reason"),
    ("failures", "Faults of the plugin, each served with the static depth.", "where"),
    ("plan_seconds", "Host seconds spent on decisions.", None),
    ("log_dropped_records", "Records of the decision log that no file holds.", None),
)


class Inc(Protocol):
    """What is used of a Prometheus counter."""

    def inc(self, amount: float) -> None:
        """Add."""


#: Makes the counter for a name, a help text and label names; ``prometheus_client.Counter`` is one.
Make = Callable[[str, str, tuple[str, ...]], Any]


class Metrics:
    """Publishes the counts of a runtime under the labels that SGLang's own metrics carry."""

    def __init__(
        self,
        runtime: AdaptiveRuntime,
        labels: Mapping[str, Any],
        make: Make,
        log_dropped: Callable[[], int] = lambda: 0,
    ) -> None:
        """Declare the counters; nothing is published before :meth:`publish` or :meth:`start`."""
        self._runtime, self._labels, self._log_dropped = runtime, dict(labels), log_dropped
        names = tuple(self._labels)
        self._counters = {
            name: make(PREFIX + name, text, names + ((extra,) if extra else ()))
            for name, text, extra in COUNTERS
        }
        self._extra = {name: extra for name, _, extra in COUNTERS}
        self._published: dict[tuple[str, str], float] = {}

    def start(self, period_s: float = PERIOD_S) -> None:
        """Publish every ``period_s`` seconds from now on, on a daemon thread."""
        pause = threading.Event()

        def forever() -> None:
            while not pause.wait(period_s):
                self.publish()

        threading.Thread(target=forever, name="adaptive-depth-metrics", daemon=True).start()

    def publish(self) -> None:
        """Add what has been counted since the last time."""
        for (name, label), value in self._values().items():
            before = self._published.get((name, label), 0)
            if value > before:
                self._child(name, label).inc(value - before)
            self._published[name, label] = value

    def _child(self, name: str, label: str) -> Inc:
        extra = self._extra[name]
        labels = self._labels | ({extra: label} if extra else {})
        child: Inc = self._counters[name].labels(**labels)
        return child

    def _values(self) -> dict[tuple[str, str], float]:
        """Every counter's value by now; copies first, for the decode loop counts on meanwhile."""
        counts = self._runtime.counts
        plain = {
            "proposed_tokens": counts.proposed,
            "accepted_tokens": counts.accepted,
            "emitted_tokens": counts.emitted,
            "plan_seconds": counts.plan_seconds,
            "log_dropped_records": self._log_dropped(),
        }
        values: dict[tuple[str, str], float] = {(name, ""): value for name, value in plain.items()}
        values |= {("rounds", str(depth)): n for depth, n in dict(counts.depths).items()}
        values |= {("switches", reason): n for reason, n in dict(counts.switches_by_reason).items()}
        values |= {("failures", where): n for where, n in dict(counts.faults_by_place).items()}
        values["failures", "controller"] = self._runtime.controller.snapshot().failures
        return values
