"""The layout holds: who may import what, how long a file may be, what no rule may touch."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Rooms, and which of ours each may import.
MAY_IMPORT = {
    "traces": {"traces"},
    "policies": {"traces", "policies"},
    "controller": {"traces", "policies", "controller"},
    "sim": {"traces", "policies", "controller", "sim"},
    "runtime_hooks": {"traces", "policies", "controller", "runtime_hooks"},
}
#: Foreign packages, and the only places that may name them.
ONLY_IN = {
    "sglang": ("runtime_hooks",),
    "torch": ("runtime_hooks",),
    "triton": ("runtime_hooks",),
    "rich": (
        "sim/cli.py",
        "sim/commands",
        "sim/live",
        "sim/report",
        "runtime_hooks/live",
        "runtime_hooks/watch.py",
    ),
    "scipy": ("sim", "traces"),
    "sklearn": ("sim", "traces"),
    "matplotlib": ("sim", "traces"),
    "pyarrow": ("traces",),
}
#: Slow to import: only inside a function, or for types alone.
ONLY_LAZILY = {"scipy", "sklearn", "matplotlib"}
#: What a rule or an estimator may never reach: clocks, files, threads, the environment, logs, private luck.
IMPURE_MODULES = {
    *("time", "datetime", "random", "secrets", "uuid", "os", "io", "pathlib", "tempfile", "shutil", "socket"),
    *("threading", "multiprocessing", "subprocess", "asyncio", "concurrent", "logging", "sys", "warnings"),
}
#: The loaders of what a user writes: the only modules of those rooms that open a file.
LOADERS = {
    "policies/sglang_ema_config.py",
    "controller/cost_csv.py",
    "controller/cost_file.py",
    "controller/policy_file.py",
}
#: Where any exception is caught, because a decode loop must go on: the controller's guard and the hooks'.
CATCH_ALL = {"controller/depth_controller.py", "runtime_hooks/boundary.py"}
NO_SUCH_NAME = {"utils.py", "util.py", "helpers.py", "helper.py", "manager.py", "common.py", "misc.py"}
LINES_LIMIT, LINES_WARN = 500, 300


def _modules(*rooms: str) -> list[str]:
    found = (path for room in rooms or MAY_IMPORT for path in (ROOT / room).rglob("*.py"))
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def _written() -> list[str]:
    """Every Python file that somebody has to read."""
    return _modules(*MAY_IMPORT, "tests", "benchmarks", "docs")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text("utf-8"), module)


def _imports(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Dotted names imported by these nodes."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def _at_import_time(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run when the module is imported: not in a function, not under TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _at_import_time(node)


def _is_below(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(place + "/") for place in places)


@pytest.mark.parametrize("module", _modules())
def test_rooms_import_one_way(module):
    """traces <- policies <- controller <- {sim, runtime_hooks}, by the installed name only."""
    room = module.split("/")[0]
    for name in _imports(ast.walk(_tree(module))):
        first, _, rest = name.partition(".")
        assert first not in MAY_IMPORT, f"{name}: import adaptive_depth.{name}"
        assert not name.startswith("."), "relative import"
        if first == "adaptive_depth" and rest:
            assert rest.split(".")[0] in MAY_IMPORT[room], f"{room} may not import {name}"


@pytest.mark.parametrize("module", _modules())
def test_foreign_packages_stay_where_they_belong(module):
    """sglang and torch in the hooks alone, rich where something is shown, the slow ones never at import."""
    for name in _imports(ast.walk(_tree(module))):
        places = ONLY_IN.get(name.split(".")[0])
        assert places is None or _is_below(module, places), f"{name} only in {places}"
    eager = {name.split(".")[0] for name in _imports(_at_import_time(_tree(module)))}
    assert not eager & ONLY_LAZILY


@pytest.mark.parametrize("module", _modules("policies", "controller"))
def test_rules_and_estimators_are_deterministic(module):
    """No clock, file, thread, environment, log or random state; user files in the listed loaders only."""
    impure = {name.split(".")[0] for name in _imports(ast.walk(_tree(module)))} & IMPURE_MODULES
    if module in LOADERS:
        impure -= {"pathlib"}
    assert not impure
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Attribute):
            assert not ast.unparse(node).startswith(("np.random", "numpy.random")), "global random state"
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            assert called not in {"print", "input", "exec", "eval", "default_rng"}
            assert module in LOADERS or called not in {"open", "read_text", "read_bytes", "write_text"}


def test_the_loaders_exist():
    """A renamed loader leaves no stale permission behind."""
    assert set(_modules()) >= LOADERS | CATCH_ALL


@pytest.mark.parametrize("module", _modules())
def test_any_exception_is_caught_at_the_boundary_only(module):
    """``except Exception`` hides faults; it is right only where a server must go on."""
    handlers = (node for node in ast.walk(_tree(module)) if isinstance(node, ast.ExceptHandler))
    caught = {"" if node.type is None else ast.unparse(node.type) for node in handlers}
    if module not in CATCH_ALL:
        assert not caught & {"", "Exception", "BaseException"}
    else:
        assert "Exception" in caught


@pytest.mark.parametrize("module", _modules())
def test_a_module_opens_with_a_sentence(module):
    """The docstring's first paragraph says in a sentence what the module is."""
    first = (ast.get_docstring(_tree(module)) or "").partition("\n\n")[0]
    assert len(first.split()) >= 3
    assert first[-1] in ".:", first


@pytest.mark.parametrize("module", _written())
def test_files_are_short(module):
    """A file of more than 500 lines does two things; over 300 it is worth a look."""
    lines = (ROOT / module).read_text("utf-8").count("\n")
    assert lines <= LINES_LIMIT, f"{lines} lines"
    if lines > LINES_WARN:
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # said, not failed
            warnings.warn(f"{module} has {lines} lines", stacklevel=2)


def test_names_say_what_is_inside():
    """No file is called after the fact that it holds code."""
    assert not [module for module in _written() if Path(module).name in NO_SUCH_NAME]


def test_a_rule_a_module_and_a_class_share_one_word():
    """``throughput-aware``, ``throughput_aware.py``, ``ThroughputAware``."""
    import adaptive_depth.policies
    from adaptive_depth.policies.registry import entries

    for entry in entries():
        assert entry.factory.__module__ == f"adaptive_depth.policies.{entry.name.replace('-', '_')}"
        words = entry.factory.__name__.lower()
        assert words == entry.name.replace("-", ""), f"{entry.name}: class {entry.factory.__name__}"
        assert entry.config_type.__name__ == f"{entry.factory.__name__}Config"
    assert {e.name.replace("-", "_") for e in entries()} == set(adaptive_depth.policies.__all__)


def test_tests_mirror_the_rooms():
    """Every folder of tests is named after a folder of the product, or holds the tests' engine or vectors."""
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    for folder in folders - {Path(".")}:
        if folder.parts[0] not in {"engine", "engine_env"}:
            assert (ROOT / folder).is_dir(), f"tests/{folder} mirrors nothing"


@pytest.mark.parametrize("module", [m for m in _modules("tests") if Path(m).name.startswith("test_")])
def test_every_test_says_its_promise(module):
    """A test without a docstring leaves its reader guessing what broke."""
    silent = [
        node.name
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert not silent
