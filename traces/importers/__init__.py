"""Importers of foreign acceptance data, one format a module, known by content and never by file name.

A new format is one module with an ``IMPORTER``, added to the list below. Order matters only where two formats
could match one file: the narrower comes first.
"""

from __future__ import annotations

from pathlib import Path

from adaptive_depth.traces.importers import spec_bench, specdecode_bench
from adaptive_depth.traces.importers.base import Imported, Importer, Item, Piece, Problem, Progress
from adaptive_depth.traces.importers.head import Head

__all__ = ["IMPORTERS", "Head", "Imported", "Importer", "Item", "Piece", "Problem", "Progress", "recognise"]

IMPORTERS: tuple[Importer, ...] = (
    specdecode_bench.IMPORTER,
    spec_bench.IMPORTER,
)


def recognise(path: Path | Head) -> Importer | None:
    """The importer for a file's content, or ``None``; raises ``OSError`` where it cannot be read."""
    head = path if isinstance(path, Head) else Head(Path(path))
    return next((importer for importer in IMPORTERS if importer.matches(head)), None)
