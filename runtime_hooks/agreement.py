"""With tensor parallelism every rank plans for itself; this makes sure that all planned the same.

Ranks that verify at different depths would wait for each other for ever. So each round they compare a short
fingerprint of the plan over the host's own process group (a reduction of four integers). Where it differs,
every rank sees so in the same round, drops its plan and stays at the static depth.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from adaptive_depth.runtime_hooks.rounds import Round

#: Fingerprint of a rank that has no plan.
NO_PLAN = (-1, 0)


class Agreement(Protocol):
    """Whether all ranks planned the same."""

    def __call__(self, planned: Round | None) -> bool:
        """Compare; every rank calls this at every decode launch, with or without a plan."""


def alone(planned: Round | None) -> bool:
    """The agreement of a single rank."""
    return True


def fingerprint(planned: Round | None) -> tuple[int, int]:
    """Depth, and a checksum of all that the ranks must have in common."""
    if planned is None:
        return NO_PLAN
    parts = (planned.plan.window, planned.view.slot, planned.view.context)
    text = b"".join(np.ascontiguousarray(part, np.int64).tobytes() for part in parts)
    return planned.depth, zlib.crc32(text)


class GroupAgreement:
    """Compares over a process group.

    ``reduce_max`` takes the element-wise maximum of a tensor over all ranks.
    """

    def __init__(self, reduce_max: Callable[[Any], None]) -> None:
        """Compare by ``reduce_max``, in place."""
        self._reduce_max = reduce_max

    def __call__(self, planned: Round | None) -> bool:
        """Whether the largest fingerprint is the smallest as well."""
        import torch

        mine = fingerprint(planned)
        values = torch.tensor([*mine, *(-value for value in mine)], dtype=torch.int64)
        self._reduce_max(values)
        highest, lowest = values[:2], -values[2:]
        return bool(torch.equal(highest, lowest))


def group_agreement() -> GroupAgreement:
    """Over the target's tensor-parallel group, on the host."""
    import torch.distributed
    from sglang.srt.distributed.parallel_state import get_tp_group

    group = get_tp_group().cpu_group
    maximum = torch.distributed.ReduceOp.MAX
    return GroupAgreement(lambda values: torch.distributed.all_reduce(values, maximum, group))
