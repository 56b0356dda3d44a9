"""Asks a running server for its last rounds over ``/server_info``; nothing is written or changed there."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adaptive_depth.runtime_hooks.live.picture import Picture
from adaptive_depth.runtime_hooks.live.snapshot import Link, Snapshot

Fetch = Callable[[str], Any]
TIMEOUT_S = 2.0


def fetch_json(url: str) -> Any:  # noqa: ANN401
    """The JSON behind a URL; ``OSError`` or ``ValueError`` where there is none."""
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        return json.loads(answer.read())


class HttpSource:
    """Polls ``<base>/server_info``; the rounds between two looks are those the server still holds."""

    def __init__(self, base: str, fetch: Fetch = fetch_json) -> None:
        """``fetch`` gets a URL and returns its parsed JSON."""
        self._base, self._fetch = base.rstrip("/"), fetch
        self._picture = Picture()
        self._run, self._next = "", 0
        self._missed = 0

    def read(self, now: float) -> Snapshot:
        """Look once; a server that does not answer is a state of the snapshot, not an error."""
        try:
            state, ranks = self._state()
        except urllib.error.HTTPError as error:
            return self._disconnected(now, f"the server answers {error.code} to /server_info")
        except (OSError, ValueError, http.client.HTTPException) as error:
            return self._disconnected(now, f"no answer: {getattr(error, 'reason', None) or error}")
        if state is None:
            return self._disconnected(now, "this server runs without --adaptive-depth, or has just started")
        self._take(state)
        snapshot = self._picture.snapshot(self._base, now)
        return replace(snapshot, notes=(*snapshot.notes, *self._notes(state, ranks)))

    def close(self) -> None:
        """Nothing is held open."""

    def _state(self) -> tuple[dict[str, Any] | None, int]:
        """The first rank's state, and how many ranks have one."""
        info = self._fetch(f"{self._base}/server_info")
        ranks = info.get("internal_states") if isinstance(info, dict) else None
        states = [rank.get("adaptive_depth") for rank in ranks or [] if isinstance(rank, dict)]
        found = [state for state in states if isinstance(state, dict)]
        return (found[0] if found else None), len(found)

    def _take(self, state: dict[str, Any]) -> None:
        recent = state.get("recent") or {}
        if recent.get("run") != self._run:
            self._picture, self._run, self._next, self._missed = Picture(), recent.get("run", ""), 0, 0
            self._picture.feed([recent.get("header")])
        first, records = int(recent.get("first", 0)), recent.get("records") or []
        if self._next:
            self._missed += max(0, first - self._next)
        self._picture.feed(records[max(0, self._next - first) :])
        self._next = first + len(records)
        self._picture.disabled = bool(state.get("disabled"))
        self._picture.forced = (state.get("controller") or {}).get("forced_depth")
        self._picture.failures = int((state.get("counts") or {}).get("faults", 0)) + int(
            (state.get("controller") or {}).get("failures", 0)
        )

    def _notes(self, state: dict[str, Any], ranks: int) -> list[str]:
        notes = []
        if not state.get("active"):
            notes.append("no round has gone through the hooks yet")
        if ranks > 1:
            notes.append(f"rank 0 of {ranks}")
        if self._missed:
            notes.append(f"{self._missed:,} records came and went unseen: use a shorter --interval")
        return notes

    def _disconnected(self, now: float, reason: str) -> Snapshot:
        snapshot = self._picture.snapshot(self._base, now)
        return replace(snapshot, link=Link.DISCONNECTED, notes=(*snapshot.notes, reason))
