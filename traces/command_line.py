"""How a console script of this package finds its command and turns errors into exit codes.

Both scripts, ``sim`` and ``adaptive-depth``, are built here; it lives in the lowest room because their own
rooms may not import each other.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from adaptive_depth import __version__
from adaptive_depth.traces.errors import AdaptiveDepthError

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
#: What a shell reports for a process that a closed pipe ended.
EXIT_BROKEN_PIPE = 141


class Command(Protocol):
    """A module that is one sub-command; what is slow to import is imported inside ``run``."""

    NAME: str
    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work and return the exit code."""


def make_parser(program: str, description: str, commands: Sequence[Command]) -> argparse.ArgumentParser:
    """The parser of a script with one sub-command a module."""
    parser = argparse.ArgumentParser(program, description=description)
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in commands:
        child = subparsers.add_parser(command.NAME, help=command.HELP, description=command.HELP)
        command.configure(child)
        child.set_defaults(run=command.run, prog=child.prog)
    return parser


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Parse ``argv`` (``None``: the process's own) and run; our own errors become one line on stderr."""
    args = parser.parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except AdaptiveDepthError as error:
        print(f"{args.prog}: {error}", file=sys.stderr)
        return EXIT_ERROR
    except MemoryError as error:
        print(f"{args.prog}: not enough memory: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # the exit's own flush must not fail again
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.errno != errno.ENOSPC:  # files are the commands' own care; this is standard output
            raise
        print(f"{args.prog}: cannot write the output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
