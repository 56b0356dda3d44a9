"""What the README says can be typed and is true of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import adaptive_depth.policies
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.policies.registry import entries
from adaptive_depth.runtime_hooks import cli as live_cli
from adaptive_depth.sim import cli as sim_cli
from adaptive_depth.traces.command_line import make_parser

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PARSERS = {
    "sim": make_parser("sim", "", sim_cli.COMMANDS),
    "adaptive-depth": make_parser("adaptive-depth", "", live_cli.COMMANDS),
}


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def _commands(*programs: str) -> list[str]:
    """Command lines of the shell blocks that start with one of ``programs``, comments cut."""
    lines = (line.partition(" #")[0].strip() for block in _blocks("sh") for line in block.splitlines())
    return [line for line in lines if line.split(" ")[0] in programs]


@pytest.mark.parametrize("command", _commands(*PARSERS))
def test_commands_parse(command):
    """Every command with every flag is one that the script takes; paths that are not built exist."""
    program, *arguments = shlex.split(command)
    PARSERS[program].parse_args(arguments)
    for word in arguments:
        if word.startswith(("traces/", "tests/", "docs/")):
            assert (ROOT / word).exists(), word


def test_every_command_is_shown():
    """No sub-command of either script is left out."""
    for program, module in (("sim", sim_cli), ("adaptive-depth", live_cli)):
        for command in module.COMMANDS:
            assert f"{program} {command.NAME}" in README


def test_the_two_commands_open_it():
    """The first shell block is ``make replay`` and ``make test``, and make knows them."""
    first = [line.split("#")[0].strip() for line in _blocks("sh")[0].splitlines()]
    assert first == ["make replay", "make test"]


def test_make_targets_exist():
    """Every ``make X`` that is mentioned is a target."""
    rules = (ROOT / "Makefile").read_text("utf-8") + (ROOT / "tests/engine_env/engine.mk").read_text("utf-8")
    mentioned = set(re.findall(r"(?:`|^)make ([a-z-]+)", README, re.MULTILINE))
    assert mentioned >= {"replay", "test"}
    assert not [name for name in mentioned if not re.search(rf"^{name}:", rules, re.MULTILINE)]


def test_launch_flags_exist():
    """The plugin's flags and keys that are mentioned are the ones it declares."""
    source = "".join(path.read_text("utf-8") for path in (ROOT / "runtime_hooks").glob("*.py"))
    for flag in set(re.findall(r"--adaptive-depth[a-z-]*", README)):
        assert f'"{flag}"' in source, flag
    for key in set(re.findall(r"adaptive_depth_[a-z]+", README)) - {"adaptive_depth_log"}:
        assert f'"{key}"' in source, key


def test_the_rule_table_is_the_registry():
    """One row a registered rule, in its order, with its own summary."""
    assert adaptive_depth.policies.__all__
    (table,) = re.findall(r"<!-- rules: the registry -->\n(.*?)<!-- end of rules -->", README, re.DOTALL)
    rows = "".join(f"| `{entry.name}` | {entry.summary} |\n" for entry in entries())
    assert table == "| rule | what it does |\n|---|---|\n" + rows


@pytest.mark.parametrize("text", _blocks("json"))
def test_policy_files_load(text):
    """A policy file shown is one that is accepted."""
    assert PolicyFile.model_validate_json(text).cost_model() is not None


def test_links_lead_somewhere():
    """Every relative link and picture is in the repository."""
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    local = [target for target in targets if "://" not in target]
    assert local
    assert not [target for target in local if not (ROOT / target).exists()]


def test_the_table_is_real_output():
    """The table is there, no wider than 100 columns, and says that its sets are synthetic."""
    (table,) = re.findall(r"<!-- table: make docs -->\n```text\n(.*?)```\n", README, re.DOTALL)
    assert "NOT measured" in table
    assert "Best policy of each set" in table
    assert max(map(len, table.splitlines())) <= 100
