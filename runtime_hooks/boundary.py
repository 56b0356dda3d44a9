"""The one place where any exception of ours is caught, so that none ever ends a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")

#: Told of every fault: where it happened and what it was.
OnFault = Callable[[str, BaseException], None]


def attempt(where: str, step: Callable[[], T], otherwise: U, on_fault: OnFault) -> T | U:
    """``step()``; ``otherwise`` after any exception, which is told to ``on_fault``.

    The hooks sit in a server's decode loop and speculation is lossless at any depth and window, so whatever
    fails in them, going on as the server would without them is right.
    """
    try:
        return step()
    except Exception as error:
        on_fault(where, error)
        return otherwise
