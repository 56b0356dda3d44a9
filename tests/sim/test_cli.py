"""The ``sim`` script: errors, exit codes, help, and a light start."""

from __future__ import annotations

import argparse
import subprocess
import sys
from types import SimpleNamespace

import pytest

import adaptive_depth
from adaptive_depth.sim.cli import COMMANDS, main
from adaptive_depth.traces.command_line import execute, make_parser
from adaptive_depth.traces.errors import ConfigError


def run_raising(error):
    """Run a made-up command that raises ``error``."""

    def run(args):
        raise error

    command = SimpleNamespace(NAME="fail", HELP="always fails", configure=lambda parser: None, run=run)
    return execute(make_parser("sim", "", [command]), ["fail"])


def test_our_errors_are_one_line_and_exit_2(capsys):
    """An error raised on purpose names the command and shows no traceback."""
    assert run_raising(ConfigError("no such policy")) == 2
    assert capsys.readouterr().err == "sim fail: no such policy\n"


def test_interrupt_is_130_and_other_errors_are_not_hidden():
    """Ctrl-C ends quietly; a bug stays a traceback."""
    assert run_raising(KeyboardInterrupt()) == 130
    with pytest.raises(ZeroDivisionError):
        run_raising(ZeroDivisionError())


def test_a_closed_pipe_is_quiet(make_trace, tmp_path):
    """``sim inspect | head`` ends without a word on stderr, whoever meets the closed pipe first."""
    from adaptive_depth.traces.store import write_trace

    for i in range(40):
        write_trace(tmp_path / f"{i}.trace.parquet", *_one(make_trace("dense", seed=i)))
    for form in ("table", "json"):
        command = f"{sys.executable} -m adaptive_depth.sim inspect {tmp_path} --format {form} | head -c 1"
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert len(done.stdout) == 1
        assert done.stderr == ""


def _one(trace):
    return trace[0], [trace[1]]


def test_version(capsys):
    """``--version`` prints the package's version."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"sim {adaptive_depth.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["inspect"], ["inspect", "x", "--format", "xml"]])
def test_wrong_usage_is_exit_2(arguments, capsys):
    """Missing or unknown words are refused with the usage."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: sim" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.NAME)
def test_every_command_has_help(command):
    """Each command describes itself and each of its arguments."""
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.HELP
    assert all(action.help for action in parser._actions)


def test_help_starts_light():
    """``sim --help`` imports none of the slow libraries; they wait for the command that needs them."""
    code = (
        "import sys; from adaptive_depth.sim.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'pyarrow', 'sklearn', 'scipy', 'matplotlib', 'pydantic', 'rich', 'torch', 'sglang'}\n"
        "sys.exit(', '.join(sorted(slow & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_runs_as_a_module():
    """``python -m adaptive_depth.sim`` is the same script."""
    done = subprocess.run(
        [sys.executable, "-m", "adaptive_depth.sim", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"sim {adaptive_depth.__version__}\n"
