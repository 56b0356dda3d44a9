"""A dense trace as flat arrays, ready to replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adaptive_depth.traces.errors import TraceFormatError
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import DenseBlock


@dataclass(frozen=True, slots=True)
class TraceSet:
    """A named dense trace.

    ``evidence`` is ``exact`` where the counts were recorded (or generated) dense, ``modelled`` where they
    were filled in from rounds or moved to another context or window.
    """

    name: str
    origin: str
    windows: tuple[int, ...]
    sink: int
    k_max: int
    context: npt.NDArray[np.int64]  # [R]
    start: npt.NDArray[np.int64]  # [R+1]
    accepted: npt.NDArray[np.int8]  # [W, N]
    evidence: str = "exact"
    coverage: float = 1.0
    workload: tuple[str, ...] = ()
    request_id: tuple[str, ...] = ()
    #: Deepest depth at which the count is recorded, by position, i8[N]: 127 where a rejection was seen, -1
    #: nowhere. ``None``: recorded everywhere.
    known: npt.NDArray[np.int8] | None = None
    note: str = ""

    @property
    def requests(self) -> int:
        """Number of requests R."""
        return len(self.context)

    @property
    def output_tokens(self) -> npt.NDArray[np.int64]:
        """Output tokens of each request, i64[R]."""
        return np.diff(self.start)

    def rows_of(self, windows: Sequence[int]) -> list[int]:
        """Row of ``accepted`` for every candidate window; a window that was not recorded is an error.

        A window that covers every request's whole context (sink included) is the full window.
        """
        longest = int((self.context + self.output_tokens).max(initial=0))
        rows = []
        for window in windows:
            if window in self.windows:
                rows.append(self.windows.index(window))
            elif 0 in self.windows and window + self.sink >= longest:
                rows.append(self.windows.index(0))
            else:
                recorded = ", ".join(str(w) for w in self.windows)
                raise TraceFormatError(
                    self.name, 0, f"window {window} was not recorded (recorded: {recorded})"
                )
        return rows

    def at_context(self, tokens: int) -> TraceSet:
        """Priced as if every prompt had ``tokens`` tokens; what is accepted stays the trace's own."""
        if (self.context == tokens).all():
            return self
        note = _add(self.note, f"priced at {tokens:,} tokens of context")
        return replace(self, context=np.full_like(self.context, tokens), note=note)

    def with_windows(self, windows: tuple[int, ...], sink: int) -> TraceSet:
        """A trace recorded at full context only, at these windows instead.

        Exact where a window covers every request's context, as it then is the full context; else
        ``modelled``: the window is assumed to accept as the full context does.
        """
        if self.windows != (0,) or windows == (0,):
            return self
        longest = int((self.context + self.output_tokens).max(initial=0))
        covers = all(window == 0 or window + sink >= longest for window in windows)
        accepted = np.broadcast_to(self.accepted, (len(windows), self.accepted.shape[1]))
        moved = replace(self, windows=windows, sink=sink, accepted=accepted)
        if covers:
            return moved
        note = _add(self.note, "windows assumed to accept as full context")
        return replace(moved, evidence="modelled", note=note)


def _add(note: str, more: str) -> str:
    return f"{note}; {more}" if note else more


#: Context at which requests of unknown length are priced unless the user says.
ASSUMED_CONTEXT = 1024


def known_context(context: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], str]:
    """The contexts with unknown ones (-1) filled in, and the note that says so."""
    lost = context < 0
    note = f"context unknown, {ASSUMED_CONTEXT:,} tokens assumed" if lost.any() else ""
    return np.where(lost, ASSUMED_CONTEXT, context), note


def from_block(header: TraceHeader, block: DenseBlock) -> TraceSet:
    """The trace set of one dense file."""
    context, note = known_context(block.context)
    return TraceSet(
        name=header.trace_set,
        origin=header.origin,
        windows=header.windows,
        sink=header.sink,
        k_max=header.k_max,
        context=context,
        start=block.start,
        accepted=block.accepted,
        workload=block.workload,
        request_id=block.request_id,
        note=note,
    )
