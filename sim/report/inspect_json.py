"""Inspections as JSON: ``{"schema", "traces": [{path, header, requests, problems, findings}]}``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adaptive_depth.sim.inspection import Inspection
from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.store import TraceProblem

SCHEMA = "adaptive-depth-inspect/1"


class JsonReport:
    """Collects inspections and prints them as one document."""

    def __init__(self) -> None:
        """Start empty."""
        self._traces: list[dict[str, Any]] = []

    def add(
        self, path: Path, header: TraceHeader, inspection: Inspection, problems: Sequence[TraceProblem]
    ) -> None:
        """Take one trace; unknown figures become ``null``."""
        row: dict[str, Any] = {"path": str(path), "header": header.model_dump(mode="json")}
        row |= {"requests": inspection.requests, "problems": [dataclasses.asdict(p) for p in problems]}
        self._traces.append(row | {"findings": dataclasses.asdict(inspection.findings)})

    def close(self) -> None:
        """Print the document."""
        print(json.dumps({"schema": SCHEMA, "traces": self._traces}, indent=2, allow_nan=False))
