"""Switches the worker between depths: cheap enough to do before every round.

SGLang's own ``EAGLEWorkerV2.apply_runtime_state`` logs a line, makes the chain's index tensors anew and adds
an entry to a list that never shrinks; at a switch every few rounds all three count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adaptive_depth.runtime_hooks.foreign import Foreign


class TierPolicy:
    """What SGLang's adaptive controller asks; it answers with the depth just planned.

    Implements ``AdaptiveSpecPolicy`` of ``speculative/adaptive_runtime_state.py``.
    """

    def __init__(self, depths: tuple[int, ...], start: int) -> None:
        """Tiers at ``depths``, the first round at ``start``."""
        self.candidate_steps = list(depths)
        self.start = self.depth = start

    def set_cuda_graph_bs(self, cuda_graph_bs: list[int] | None) -> None:
        """Depth does not hang on the graphs' batch sizes."""

    def get_steps_for_batch(self, batch_size: int) -> int:
        """The depth of the round being launched."""
        return self.depth

    def on_verify_complete(self, num_correct_drafts_per_req: list[int], batch_size: int) -> None:
        """Feedback comes another way, with the round it belongs to."""

    def cuda_graph_bs_for_step(self, step: int) -> list[int] | None:
        """Every tier runs at every batch size."""


@dataclass(frozen=True, slots=True)
class ChainBuffers:
    """Index tensors of a chain of one depth; they depend on nothing else."""

    parents: Any
    scores: Any


def chain_buffers(draft_worker: Foreign, depths: Iterable[int]) -> dict[int, ChainBuffers]:
    """The index tensors of every tier, made by SGLang itself."""
    kept = draft_worker.speculative_num_steps, draft_worker.speculative_num_draft_tokens
    made = {}
    for depth in depths:
        draft_worker.speculative_num_steps, draft_worker.speculative_num_draft_tokens = depth, depth + 1
        draft_worker._rebuild_topk1_chain_buffers()
        made[depth] = ChainBuffers(
            draft_worker._topk1_parents_prealloc, draft_worker._topk1_score_indices_prealloc
        )
    draft_worker.speculative_num_steps, draft_worker.speculative_num_draft_tokens = kept
    draft_worker._rebuild_topk1_chain_buffers()
    return made


def apply_tier(
    worker: Foreign, state: Foreign, buffers: Mapping[int, ChainBuffers], spec_bag: Foreign
) -> None:
    """Make the worker run at ``state``'s depth; what SGLang's own switch sets, and nothing else.

    ``spec_bag`` holds the configuration leaves that other parts of SGLang read the depth from.
    """
    depth, tokens = state.speculative_num_steps, state.speculative_num_draft_tokens
    draft, target = worker._draft_worker, worker._target_worker.model_runner
    chain = buffers[depth]
    draft.speculative_num_steps, draft.speculative_num_draft_tokens = depth, tokens
    draft.draft_attn_backend = draft.draft_runner.draft_attn_backend = state.draft_attn_backend
    draft.cuda_graph_runner = state.cuda_graph_runner
    draft.draft_extend_attn_backend = state.draft_extend_attn_backend
    if state.draft_extend_attn_backend is not None:
        draft.draft_runner.attn_backend = state.draft_extend_attn_backend
    draft.cuda_graph_runner_for_draft_extend = state.cuda_graph_runner_for_draft_extend
    draft._topk1_parents_prealloc, draft._topk1_score_indices_prealloc = chain.parents, chain.scores
    target.attn_backend, target.decode_cuda_graph_runner = (
        state.target_attn_backend,
        state.target_graph_runner,
    )
    spec_bag._set("speculative_num_steps", depth)
    spec_bag._set("speculative_num_draft_tokens", tokens)
    worker.speculative_num_steps, worker.speculative_num_draft_tokens = depth, tokens


class TierSwitch:
    """Hook around ``EAGLEWorkerV2.apply_runtime_state``."""

    def __init__(self, attempt: Callable[[str, Callable[[], bool], bool], bool]) -> None:
        """``attempt`` runs a step and answers ``False`` where it failed."""
        self._attempt = attempt
        self.buffers: dict[int, ChainBuffers] = {}

    def prepare(self, worker: Foreign, depths: Iterable[int]) -> None:
        """Make the tensors of every tier; before this, SGLang's own switch is used."""
        self.buffers = chain_buffers(worker._draft_worker, depths)

    def __call__(self, original: Callable[..., None], worker: Foreign, state: Foreign) -> None:
        """Switch, by SGLang's own means where ours fail or know no such depth."""
        if worker.speculative_num_steps == state.speculative_num_steps:
            return
        known = state.speculative_num_steps in self.buffers
        if not (known and self._attempt("switch", lambda: self._apply(worker, state), False)):
            original(worker, state)

    def _apply(self, worker: Foreign, state: Foreign) -> bool:
        from sglang.srt.runtime_context import get_context

        apply_tier(worker, state, self.buffers, get_context().config_bag("spec"))
        return True
