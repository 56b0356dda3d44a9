"""Importers of foreign acceptance data, one format a module, known by content and never by file name.

A new format is one module with an ``IMPORTER``, added to the list below. Order matters only where two formats
could match one file: the narrower comes first.
"""

from __future__ import annotations

from pathlib import Path

from adaptive_depth.traces.importers import (
    decision_log,
    dflash,
    llama_cpp_log,
    ltd,
    proposals,
    sglang_log,
    sglang_meta,
    spec_bench,
    specdecode_bench,
    vllm_log,
    vllm_stats,
)
from adaptive_depth.traces.importers.base import Imported, Importer, Item, Piece, Problem, Progress
from adaptive_depth.traces.importers.head import Head

__all__ = ["IMPORTERS", "Head", "Imported", "Importer", "Item", "Piece", "Problem", "Progress", "recognise"]

IMPORTERS: tuple[Importer, ...] = (
    decision_log.IMPORTER,
    specdecode_bench.IMPORTER,
    spec_bench.IMPORTER,
    ltd.IMPORTER,
    dflash.IMPORTER,
    proposals.IMPORTER,
    vllm_stats.IMPORTER,
    sglang_meta.IMPORTER,
    sglang_log.IMPORTER,
    vllm_log.IMPORTER,
    llama_cpp_log.IMPORTER,
)


def recognise(path: Path | Head) -> Importer | None:
    """The importer for a file's content, or ``None``; raises ``OSError`` where it cannot be read."""
    head = path if isinstance(path, Head) else Head(Path(path))
    return next((importer for importer in IMPORTERS if importer.matches(head)), None)
