"""The trace header: what a file holds, where it came from, and which schema wrote it."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

#: Written into every file. A reader refuses a newer one and upgrades older ones (``traces/upgrade.py``).
SCHEMA_VERSION = 1
SCHEMA_NAME: Final = "adaptive-depth-trace"

Origin = Literal["recorded", "imported", "synthetic"]
Kind = Literal["dense", "rounds", "intervals"]


class TraceHeader(BaseModel):
    """Header of one trace file; stored as JSON in the Parquet schema metadata.

    >>> TraceHeader(kind="dense", trace_set="demo", origin="synthetic", k_max=7).windows
    (0,)
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_name: Literal["adaptive-depth-trace"] = SCHEMA_NAME
    schema_version: int = SCHEMA_VERSION
    kind: Kind
    origin: Origin
    #: Name under which results are reported, for example ``cnn-eagle``.
    trace_set: str = Field(min_length=1)
    #: Chain cap of a dense trace; deepest depth seen in a rounds trace (0 unknown).
    k_max: int = Field(default=0, ge=0, le=127)
    #: Draft windows of the rows of ``accepted`` (dense), or those played (rounds). 0 = full context.
    windows: tuple[int, ...] = (0,)
    sink: int = Field(default=0, ge=0)
    #: False where only counts survive and the order of rounds is lost (a histogram).
    ordered: bool = True
    model: str = "unknown"
    drafter: str = "unknown"
    engine: str = "unknown"
    hardware: str = "unknown"
    sampler: str = "unknown"
    temperature: float | None = None
    #: Where it came from: a path's base name, a URL, a citation, generator parameters.
    provenance: str = "unknown"
    licence: str = "unknown"
    notes: str = ""
