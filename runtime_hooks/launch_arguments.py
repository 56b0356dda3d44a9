"""The launch arguments that adaptive depth looks at, read without SGLang."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adaptive_depth.traces.errors import ConfigError

_TEXT = (
    ("--model-path", "--model"),
    ("--speculative-algorithm",),
    ("--speculative-draft-model-path",),
    ("--speculative-adaptive-config",),
    ("--speculative-draft-attention-backend",),
    ("--decode-attention-backend",),
    ("--attention-backend",),
    ("--lora-paths",),
    ("--adaptive-depth-config",),
    ("--adaptive-depth-log",),
)
_NUMBERS = (
    ("--speculative-num-steps",),
    ("--speculative-eagle-topk",),
    ("--speculative-num-draft-tokens",),
    ("--speculative-draft-window-size",),
    ("--speculative-draft-sink-size",),
    ("--context-length",),
    ("--max-running-requests",),
    ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs"),
)
_SWITCHES = ("--speculative-adaptive", "--enable-lora", "--enable-hisparse", "--adaptive-depth")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:  # noqa: ANN401
        """Instead of ending the process."""
        raise ConfigError(f"launch arguments: {message}")


class Arguments(argparse.Namespace):
    """Launch arguments by SGLang's names; one that was not given is ``None``, a parallel size 1.

    >>> Arguments(tp_size=2).enable_lora is None
    True
    >>> Arguments().dp_size, Arguments().speculative_draft_window_size
    (1, None)
    """

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """What was not given; argparse asks for hidden names of its own."""
        if name.startswith("_"):
            raise AttributeError(name)
        return 1 if name.endswith("_size") and not name.startswith("speculative_") else None


def read_arguments(argv: Sequence[str]) -> Arguments:
    """The arguments as typed; one not listed here as number, text, or ``True`` without a value.

    :class:`ConfigError` for a value that is no number where one belongs.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    for names in _TEXT:
        parser.add_argument(*names)
    for names in _NUMBERS:
        parser.add_argument(*names, type=int)
    for name in _SWITCHES:
        parser.add_argument(name, action="store_true")
    parser.add_argument("--tp-size", "--tensor-parallel-size", "--tp", type=int, default=1)
    parser.add_argument("--pp-size", "--pipeline-parallel-size", type=int, default=1)
    found, rest = parser.parse_known_args(list(argv), Arguments())
    for at, word in enumerate(rest):
        if word.startswith("--"):
            name, equals, value = word.removeprefix("--").partition("=")
            bare = at + 1 == len(rest) or rest[at + 1].startswith("--")
            given = value if equals else bare or rest[at + 1]
            number = isinstance(given, str) and given.isdecimal()
            setattr(found, name.replace("-", "_"), int(given) if number else given)
    return found


def model_limits(model: str | None) -> tuple[int | None, int | None]:
    """Context length and vocabulary from a local checkpoint's ``config.json``; ``None`` where unknown."""
    try:
        config = json.loads((Path(model or "") / "config.json").read_text("utf-8"))
        config = config.get("text_config", config)
        context, vocabulary = config.get("max_position_embeddings"), config.get("vocab_size")
    except (OSError, ValueError, AttributeError):
        return None, None
    return (
        context if isinstance(context, int) else None,
        vocabulary if isinstance(vocabulary, int) else None,
    )
