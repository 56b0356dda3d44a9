"""What a tier costs in memory on a GPU, from the launch alone: an estimate to choose tiers by.

Every tier has its own CUDA graphs and index buffers in SGLang 0.5.23. With B the largest captured batch, L
the context length and k the tier's depth, its Triton backends hold, as 64-bit indices:

* target verify, ``B * (k + 1) * L`` (``TritonAttnBackend.init_cuda_graph_state``);
* draft extend, ``B * (k + 1) * L``, the same in the draft's own backend;
* draft decode, ``k * B * L`` where k >= 2 (``TritonMultiStepDraftBackend.init_cuda_graph_state``).

Beside them one logits buffer of 32-bit floats is shared by all tiers: ``B * (deepest + 1)`` rows of the
vocabulary (``GraphSharedOutput``). The graphs' own pools come on top and are not known before capture.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

INDEX_BYTES, LOGIT_BYTES = 8, 4


@dataclass(frozen=True, slots=True)
class TierBuffers:
    """Rows and index bytes of one tier."""

    depth: int
    #: Token rows of a verify or draft-extend batch.
    rows: int
    verify_bytes: int
    extend_bytes: int
    draft_bytes: int

    @property
    def total_bytes(self) -> int:
        """All index buffers of the tier."""
        return self.verify_bytes + self.extend_bytes + self.draft_bytes


def tier_buffers(depths: Iterable[int], batch: int, context: int) -> list[TierBuffers]:
    """The buffers of every tier at ``batch`` requests of up to ``context`` tokens.

    >>> [tier.total_bytes for tier in tier_buffers((0, 3), batch=2, context=1000)]
    [32000, 176000]
    """
    tiers = []
    for depth in depths:
        rows = (depth + 1) * batch
        indices = rows * context * INDEX_BYTES
        draft = depth * batch * context * INDEX_BYTES if depth >= 2 else 0
        tiers.append(TierBuffers(depth, rows, indices, indices, draft))
    return tiers


def logits_bytes(deepest: int, batch: int, vocabulary: int) -> int:
    """The logits buffer that the tiers share."""
    return (deepest + 1) * batch * vocabulary * LOGIT_BYTES
