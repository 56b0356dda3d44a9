"""The ``adaptive-depth`` script: version and the list of rules, without the server's packages."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import adaptive_depth
import adaptive_depth.policies
from adaptive_depth.policies.registry import entries, make_config
from adaptive_depth.runtime_hooks.cli import main


def test_version(capsys):
    """``--version`` prints the package's version."""
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"adaptive-depth {adaptive_depth.__version__}\n"


def test_policies_as_json_match_the_registry(capsys):
    """Every registered rule is listed, and its listed defaults build its config."""
    assert main(["policies", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["schema"] == "adaptive-depth-policies/1"
    assert [row["name"] for row in listed["policies"]] == [entry.name for entry in entries()]
    assert len(listed["policies"]) > 0
    for row in listed["policies"]:
        assert row["summary"]
        optional = {p["name"]: p["default"] for p in row["parameters"] if not p["required"]}
        if len(optional) == len(row["parameters"]):
            assert make_config(row["name"], optional) == make_config(row["name"], {})


def test_policies_as_text_name_every_parameter(capsys):
    """The plain list shows each rule with its parameters and defaults."""
    assert main(["policies"]) == 0
    out = capsys.readouterr().out
    for entry in entries():
        assert f"{entry.name}: {entry.summary}" in out
        assert all(f"    {name} (" in out for name in entry.config_type.__dataclass_fields__)


def test_imports_neither_sglang_nor_torch():
    """The listing works on a machine without the server."""
    code = (
        "import sys; from adaptive_depth.runtime_hooks.cli import main; main(['policies'])\n"
        "sys.exit(', '.join({'sglang', 'torch'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
