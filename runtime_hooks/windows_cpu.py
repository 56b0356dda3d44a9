"""Draft windows on the CPU backend (``intel_amx``), which knows none of its own.

Both read plans are page-table rows with a length each, so a window is a shorter row. Positions are baked into
the keys; leaving rows out changes what is attended and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.runtime_hooks.windows import DraftWindows, windowed_rows

Attempt = Callable[[str, Callable[[], Any], Any], Any]
#: Attribute of a backend that holds the shortened read plan of a draft-extend pass.
SHORT = "_adaptive_extend"


class CpuWindows:
    """The three hooks; ``attempt`` runs a step and falls back where it fails."""

    def __init__(self, windows: DraftWindows, attempt: Attempt) -> None:
        """Windows are taken from ``windows`` while a round is launched."""
        self._windows, self._attempt = windows, attempt

    def draft_steps(self, _result: None, backend: Foreign, forward_batch: Foreign) -> None:
        """After ``IntelAMXMultiStepDraftBackend.init_forward_metadata``.

        Shorten what each draft step reads.
        """
        plans = self._attempt("window", lambda: self._step_plans(backend, forward_batch), None)
        for step, plan in zip(backend.attn_backends, plans or (), strict=False):
            step.draft_decode_metadata = plan

    def _step_plans(self, backend: Foreign, forward_batch: Foreign) -> list[Any] | None:
        caps = self._windows.caps(forward_batch.batch_size)
        if caps is None or backend.topk != 1:
            return None
        table, _, rows = backend.attn_backends[0].draft_decode_metadata
        count = len(backend.attn_backends)
        prefix = forward_batch.seq_lens.to(caps.dtype)
        short, keep = windowed_rows(table, prefix, count, caps, self._windows.sink)
        return [(short, keep + step + 1, rows) for step in range(count)]

    def wrap_extend(self, _result: None, backend: Foreign, _model_runner: Foreign) -> None:
        """After ``IntelAMXAttnBackend.__init__``: its extend kernel reads a short plan where there is one."""
        kernel = backend.extend_attention_fwd

        def extend(*args: Foreign) -> Foreign:
            # Arguments 8 to 10 are req_to_token, req_pool_indices and seq_lens.
            short = getattr(backend, SHORT)
            return kernel(*args) if short is None else kernel(*args[:8], *short, *args[11:])

        setattr(backend, SHORT, None)
        backend.extend_attention_fwd = extend

    def draft_extend(self, _result: None, backend: Foreign, forward_batch: Foreign) -> None:
        """After ``IntelAMXAttnBackend.init_forward_metadata``: shorten the prefix of a draft-extend pass.

        Only the draft runs in this mode; a prefill of the draft has another and stays whole.
        """
        plan = None
        if self._windows.extend and forward_batch.forward_mode.is_draft_extend_v2():
            plan = self._attempt("window", lambda: self._extend_plan(backend, forward_batch), None)
        setattr(backend, SHORT, plan)

    def _extend_plan(self, backend: Foreign, forward_batch: Foreign) -> tuple[Any, Any, Any] | None:
        import torch

        caps = self._windows.caps(forward_batch.batch_size)
        if caps is None or backend.use_sliding_window_kv_pool:
            return None
        new = backend.num_draft_tokens
        table = backend.req_to_token_pool.req_to_token[forward_batch.req_pool_indices]
        prefix = forward_batch.seq_lens.to(caps.dtype) - new
        short, keep = windowed_rows(table, prefix, new, caps, self._windows.sink)
        return short, torch.arange(len(keep)), keep + new
