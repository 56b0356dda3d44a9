"""Draft windows on the Triton backend, a window for every request.

Draft steps: SGLang's index kernel takes one window for the batch as a compile-time constant, so ours stands
in its place while windows are planned. Draft-extend: the prefix is read in two pieces, sink and recent, by
SGLang's own packer, each request given twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.runtime_hooks.windows import DraftWindows

Attempt = Callable[[str, Callable[[], Any], Any], Any]


class IndexKernel:
    """Stands for ``triton_backend.generate_draft_decode_kv_indices``: launched as ``kernel[grid](...)``.

    Without planned windows, and for anything but a chain, it is SGLang's kernel.
    """

    def __init__(self, stock: Foreign, windows: DraftWindows, attempt: Attempt) -> None:
        """``attempt`` runs a step and answers its second argument where it failed."""
        self.stock, self._windows, self._attempt = stock, windows, attempt

    def __getitem__(self, grid: tuple[int, int, int]) -> Callable[..., None]:
        """The launch for this grid."""

        def launch(*args: Foreign, **kwargs: Foreign) -> None:
            if not self._attempt("window", lambda: self._capped(grid, args, kwargs), False):
                self.stock[grid](*args, **kwargs)

        return launch

    def _capped(self, grid: tuple[int, int, int], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Launch ours if windows are planned; whether it did."""
        steps, requests, topk = grid
        caps = self._windows.caps(requests)
        if caps is None or topk != 1:
            return False
        launch_capped((steps, requests), args, kwargs, caps, 0, self._windows.sink)
        return True


def launch_capped(
    grid: tuple[int, int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    caps: Foreign,
    caps_stride: int,
    sink: int,
) -> None:
    """Launch our kernel with the arguments that SGLang launches its own with.

    ``caps`` holds a cap a request, int64; ``caps_stride`` is the distance between steps, 0 where all share a
    row.
    """
    from adaptive_depth.runtime_hooks.triton_kernel import BLOCK, capped_draft_kv_indices

    rows, table, lengths, indices, indptr, _positions, row_stride, *rest = args
    indices_stride, indptr_stride, bs_upper, iter_upper, _tokens, page_size, *_window = rest
    capped_draft_kv_indices[grid](
        *(rows, table, lengths, indices, indptr, caps, caps_stride, row_stride, sink),
        *(indices_stride, indptr_stride, bs_upper, iter_upper, page_size),
        ENTRY_PAGE_SIZE=kwargs.get("ENTRY_PAGE_SIZE", 1),
        v2p=kwargs.get("v2p"),
        TRANSLATE=kwargs.get("TRANSLATE", False),
        BLOCK_SIZE=BLOCK,
    )


class TritonExtend:
    """The hooks of draft-extend: in the draft's pass after a verify the prefix is shortened."""

    def __init__(self, windows: DraftWindows, attempt: Attempt) -> None:
        """Windows are taken from ``windows`` while a round is launched."""
        self._windows, self._attempt = windows, attempt
        self._extending = False

    def eager(self, original: Callable[..., Any], backend: Foreign, forward_batch: Foreign) -> Foreign:
        """Around ``TritonAttnBackend.init_forward_metadata``."""
        self._extending = forward_batch.forward_mode.is_draft_extend_v2()
        try:
            return original(backend, forward_batch)
        finally:
            self._extending = False

    def graph(
        self,
        original: Callable[..., Any],
        backend: Foreign,
        plan: Foreign,
        bs: int,
        seq_lens: Foreign,
        forward_mode: Foreign,
        *rest: Foreign,
        **named: Foreign,
    ) -> Foreign:
        """Around ``TritonAttnBackend._update_draft_extend_buffers``."""
        self._extending = forward_mode.is_draft_extend_v2()
        try:
            return original(backend, plan, bs, seq_lens, forward_mode, *rest, **named)
        finally:
            self._extending = False

    def fill(
        self,
        original: Callable[..., Any],
        backend: Foreign,
        plan: Foreign,
        bs: int,
        seq_lens: Foreign,
        req_pool_indices: Foreign,
        kv_indices: Foreign,
        kv_indptr: Foreign = None,
    ) -> Foreign:
        """Around ``TritonAttnBackend._fill_kv_indptr_and_indices``: the prefix in two pieces."""
        if self._extending and self._windows.extend:
            offsets = backend.kv_indptr[: bs + 1] if kv_indptr is None else kv_indptr
            lengths, rows = seq_lens[:bs], req_pool_indices[:bs]
            done = self._attempt(
                "window", lambda: self._pieces(backend, plan, lengths, rows, kv_indices, offsets), None
            )
            if done is not None:
                return done
        return original(backend, plan, bs, seq_lens, req_pool_indices, kv_indices, kv_indptr)

    def _pieces(
        self,
        backend: Foreign,
        plan: Foreign,
        lengths: Foreign,
        rows: Foreign,
        kv_indices: Foreign,
        kv_indptr: Foreign,
    ) -> Foreign:
        """Write indices and offsets; ``None`` where no window is planned."""
        import torch

        caps = self._windows.caps(len(lengths))
        if caps is None:
            return None
        sizes, starts = prefix_pieces(lengths, caps, self._windows.sink)
        offsets = torch.zeros(len(sizes) + 1, dtype=kv_indptr.dtype, device=kv_indptr.device)
        torch.cumsum(sizes, 0, out=offsets[1:])
        backend.kv_index_translator.pack_read_stream(
            plan,
            req_pool_indices=rows.repeat_interleave(2),
            seq_lens=sizes,
            indptr=offsets,
            out=kv_indices,
            kv_start_idx=starts,
        )
        kv_indptr[1:] = offsets[2::2]
        return kv_indptr


def prefix_pieces(lengths: Foreign, caps: Foreign, sink: int) -> tuple[Any, Any]:
    """Sizes and starts of the two pieces of every request, ``[2R]``: sink, then the most recent tokens.

    ``min(length, cap)`` tokens in all.
    """
    import torch

    keep = torch.minimum(lengths.to(caps.dtype), caps)
    head = torch.clamp(keep, max=sink)
    sizes = torch.stack([head, keep - head], 1).flatten()
    starts = torch.stack([torch.zeros_like(head), lengths - (keep - head)], 1).flatten()
    return sizes.to(lengths.dtype), starts.to(lengths.dtype)
