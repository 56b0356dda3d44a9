"""How importer tests make and read a source; samples of every format lie in ``tests/vectors/importers``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adaptive_depth.traces.importers import Imported, recognise

#: Fixture name: the endings of the sample files it runs over.
KINDS = {
    "sample": (".json", ".jsonl", ".log"),
    "json_sample": (".json", ".jsonl"),
    "lines_sample": (".jsonl",),
    "log_sample": (".log",),
}
SAMPLES = Path(__file__).parents[2] / "vectors" / "importers"


def pytest_generate_tests(metafunc):
    """A test that asks for ``sample`` (or a narrower kind) runs once for every format's sample file."""
    for name, endings in KINDS.items():
        if name in metafunc.fixturenames:
            found = sorted(path for path in SAMPLES.iterdir() if path.suffix in endings)
            metafunc.parametrize(name, found, ids=[path.stem for path in found])


class Source:
    """Writes text, bytes or records to a file with a name that says nothing, and imports it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, content: object, importer: str) -> Imported:
        """Import ``content`` (records become JSON Lines), which ``importer`` has to recognise."""
        if isinstance(content, list):
            content = "".join(json.dumps(record) + "\n" for record in content)
        self.path.write_bytes(content if isinstance(content, bytes) else str(content).encode())
        found = recognise(self.path)
        assert found is not None and found.name == importer
        return found.read(self.path)

    def sets(self, content: object, importer: str) -> dict:
        """Import without problems; ``{trace set's suffix: (header, block)}``."""
        imported = self.read(content, importer)
        assert [str(p) for p in imported.problems] == []
        return {header.trace_set.removeprefix(self.path.stem): (header, b) for header, b in imported.traces}

    def block(self, content: object, importer: str):
        """Import the one block of the one set of a source without problems."""
        ((_, block),) = self.sets(content, importer).values()
        return block

    def reasons(self, content: object, importer: str) -> list[str]:
        """Import and return ``line: reason`` of every problem."""
        return [f"{p.line}: {p.reason}" for p in self.read(content, importer).problems]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A source file to fill and import."""
    return Source(tmp_path / "source")


@pytest.fixture
def sample_names() -> list[str]:
    """Names of the formats that have a sample."""
    return [path.stem for path in SAMPLES.iterdir()]
