"""What one trace holds: blocks in, a frozen :class:`~adaptive_depth.sim.inspection.Inspection` out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from adaptive_depth.sim.inspect_dense import DenseInspector
from adaptive_depth.sim.inspect_intervals import IntervalsInspector
from adaptive_depth.sim.inspect_rounds import RoundsInspector
from adaptive_depth.sim.inspection import Inspection
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.records import Block

#: Each takes blocks of its own kind by ``add`` and gives ``findings``.
_INSPECTORS: dict[str, Callable[[TraceHeader], Any]] = {
    "dense": DenseInspector,
    "rounds": RoundsInspector,
    "intervals": IntervalsInspector,
}


def inspect_blocks(header: TraceHeader, blocks: Iterable[Block]) -> Inspection:
    """Describe a trace from its header and a stream of blocks; dense and rounds are never held whole."""
    inspector, requests = _INSPECTORS[header.kind](header), 0
    for block in blocks:
        inspector.add(block)
        requests += block.requests
    return Inspection(requests, inspector.findings())
