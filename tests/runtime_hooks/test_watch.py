"""``adaptive-depth watch`` as a command: once, piped, and with a wrong source."""

import subprocess
import sys

import pytest

from adaptive_depth.runtime_hooks.cli import main
from adaptive_depth.runtime_hooks.decision_log import DecisionLog


@pytest.fixture
def log_folder(tmp_path, start_event, round_event):
    """A log with one round."""
    log = DecisionLog(tmp_path / "log")
    log.put(start_event)
    log.put(round_event(0, [("request-a", 2)]))
    log.close()
    return tmp_path / "log"


def test_once_prints_a_page(log_folder, capsys, monkeypatch):
    """With the running request and the figures, without escapes in a pipe."""
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["watch", str(log_folder), "--once"]) == 0
    page = capsys.readouterr().out
    assert "request-a" in page and "ended" in page and "AL 3.00" in page and "\x1b" not in page


def test_the_log_folder_may_come_from_the_environment(log_folder, capsys, monkeypatch):
    """As the server takes it."""
    monkeypatch.setenv("ADAPTIVE_DEPTH_LOG", str(log_folder))
    assert main(["watch", "--once"]) == 0
    assert "request-a" in capsys.readouterr().out


def test_nothing_to_see_is_exit_code_1(tmp_path, capsys):
    """A script can tell."""
    assert main(["watch", str(tmp_path / "nothing"), "--once"]) == 1
    assert "no decision log" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["ftp://x"], ["x", "--interval", "0"], ["x", "--interval", "nan"]])
def test_a_wrong_source_or_interval_is_refused(words, capsys):
    """One line, exit code 2."""
    try:
        code = main(["watch", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2 and "Traceback" not in capsys.readouterr().err


def test_a_pipe_gets_plain_lines_and_may_close(log_folder):
    """One line at a time; a reader that leaves ends the view without a traceback."""
    command = [
        sys.executable,
        "-c",
        "from adaptive_depth.runtime_hooks.cli import main; raise SystemExit(main())",
    ]
    words = ["watch", str(log_folder), "--interval", "0.05"]
    with subprocess.Popen(
        [*command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    ) as view:
        first, second = view.stdout.readline(), view.stdout.readline()
        view.stdout.close()
        assert view.wait(10) == 141 and view.stderr.read() == ""
    assert first == second and first.startswith("ended rounds=1 ")
