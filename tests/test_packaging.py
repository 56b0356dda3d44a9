"""What is installed is what is in the repository, under one name."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path

import pytest

import adaptive_depth

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("controller", "policies", "runtime_hooks", "sim", "traces")


@pytest.fixture(scope="module")
def project() -> dict:
    """``pyproject.toml``."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def _folders_with_modules(room: str) -> set[str]:
    folders = {module.parent.relative_to(ROOT).parts for module in (ROOT / room).rglob("*.py")}
    return {"adaptive_depth." + ".".join(parts) for parts in folders if "_root" not in parts}


def test_every_package_on_disk_is_listed(project):
    """A folder with modules that is missing from the list works editable and is absent from the wheel."""
    on_disk = {"adaptive_depth"}.union(*(_folders_with_modules(room) for room in ROOMS))
    assert set(project["tool"]["setuptools"]["packages"]) == on_disk


def test_every_room_has_its_installed_name(project):
    """Each room is mapped to ``adaptive_depth.<room>``, and nothing else is installed."""
    want = {f"adaptive_depth.{room}": room for room in ROOMS} | {"adaptive_depth": "controller/_root"}
    assert project["tool"]["setuptools"]["package-dir"] == want


def test_declared_data_files_exist_and_are_found(project):
    """Each pattern of package data matches a file that the installed package can read."""
    for package, patterns in project["tool"]["setuptools"]["package-data"].items():
        folder = files(package)
        for pattern in patterns:
            assert any(Path(str(item)).match(pattern) for item in folder.iterdir()), f"{package}: {pattern}"


def test_the_package_is_typed():
    """``py.typed`` sits beside the package, so that users' type checkers read our annotations."""
    assert (files("adaptive_depth") / "py.typed").is_file()


def test_version_is_the_metadatas():
    """One version: the package's is the distribution's."""
    assert version("adaptive-depth") == adaptive_depth.__version__


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("console_scripts", "sim"),
        ("console_scripts", "adaptive-depth"),
        ("sglang.srt.plugins", "adaptive_depth"),
    ],
)
def test_entry_points_load(group, name):
    """Both scripts and the SGLang plugin are found through the metadata; loading needs no sglang."""
    (entry,) = entry_points(group=group, name=name)
    assert callable(entry.load())


def test_no_generic_name_is_importable_elsewhere(tmp_path):
    """Outside the repository there is no ``sim``, ``traces`` … to collide with other people's."""
    code = "import importlib.util, json; print(json.dumps([n for n in %r if importlib.util.find_spec(n)]))"
    command = [sys.executable, "-c", code % (ROOMS,)]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert json.loads(found) == []


def test_the_simulator_needs_neither_sglang_nor_torch():
    """Importing every module that ``sim`` uses brings in no part of the server side."""
    code = (
        "import sys, adaptive_depth.sim.cli, adaptive_depth.sim.replay, adaptive_depth.controller.build;"
        "print([n for n in sys.modules if n.split('.')[0] in ('sglang', 'torch', 'triton')])"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_wheel_holds_every_module_and_no_bulk_trace():
    """The wheel that ``make wheel`` built has each module on disk and no generic top-level name."""
    wheels = sorted((ROOT / "build" / "wheel").glob("*.whl"))
    if not wheels:
        pytest.skip("no wheel: make wheel")
    names = zipfile.ZipFile(wheels[-1]).namelist()
    info = f"adaptive_depth-{adaptive_depth.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"adaptive_depth", info}
    assert not [name for name in names if name.endswith(".parquet")]
    modules = {
        f"adaptive_depth/{path.relative_to(ROOT)}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if "_root" not in path.parts
    }
    assert modules <= set(names)
