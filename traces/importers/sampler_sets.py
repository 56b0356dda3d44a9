"""Trace sets by sampler: requests of different temperatures are never mixed in one set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from adaptive_depth.traces.header import TraceHeader
from adaptive_depth.traces.importers.base import Piece
from adaptive_depth.traces.importers.rounds import Rounds, RoundsBuilder


@dataclass(slots=True)
class SamplerSets:
    """One :class:`RoundsBuilder` a (temperature, model) pair.

    The first pair keeps the plain name of the set; each further one gets its temperature, and a number where
    that is not enough.
    """

    header: TraceHeader
    _builders: dict[tuple[float | None, str], RoundsBuilder] = field(default_factory=dict)

    def add(self, request: Rounds, temperature: float | None = None, model: str = "") -> Iterator[Piece]:
        """Queue a request under its sampler."""
        key = (temperature, model)
        if key not in self._builders:
            self._builders[key] = RoundsBuilder(self._named(temperature, model))
        yield from self._builders[key].add(request)

    def flush(self) -> Iterator[Piece]:
        """What is left over of every set."""
        for builder in self._builders.values():
            yield from builder.flush()

    def _named(self, temperature: float | None, model: str) -> TraceHeader:
        name = self.header.trace_set
        taken = {builder.header.trace_set for builder in self._builders.values()}
        if taken:
            name += "" if temperature is None else f"-t{temperature:g}"
        final, count = name, 1
        while final in taken:
            count += 1
            final = f"{name}-{count}"
        changed = {"trace_set": final, "temperature": temperature}
        return self.header.model_copy(update=changed | ({"model": model} if model else {}))
