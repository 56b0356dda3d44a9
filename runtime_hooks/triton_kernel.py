"""The index kernel of windowed draft steps: SGLang's own, with a cap for every request and step.

Follows ``generate_draft_decode_kv_indices`` of ``sglang/kernels/ops/speculative/cache_locs.py`` (0.5.23) for
chains (topk 1). There window and sink are compile-time constants of the whole batch. Imported only where
Triton is.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def"
from __future__ import annotations

import triton
import triton.language as tl
from sglang.kernels.ops.speculative.cache_locs import _load_token_ids

BLOCK = 128


@triton.jit
def capped_draft_kv_indices(
    req_pool_indices,  # noqa: ANN001 - a kernel's parameters are typed by what they are called with
    req_to_token,  # noqa: ANN001
    paged_kernel_lens,  # noqa: ANN001
    kv_indices,  # noqa: ANN001
    kv_indptr,  # noqa: ANN001
    caps,  # noqa: ANN001
    caps_stride,  # noqa: ANN001
    row_stride,  # noqa: ANN001
    sink_size,  # noqa: ANN001
    kv_indices_stride: tl.constexpr,
    kv_indptr_stride: tl.constexpr,
    bs_upper: tl.constexpr,
    iter_upper: tl.constexpr,
    page_size: tl.constexpr,
    ENTRY_PAGE_SIZE: tl.constexpr,
    v2p,  # noqa: ANN001
    TRANSLATE: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
) -> None:
    """Index list and offsets of one step (axis 0) and one request (axis 1).

    The list: the first ``sink_size`` prefix tokens, the most recent ones up to ``caps[step, request]`` in
    all, then the chain's own slots up to this step.
    """
    step = tl.program_id(axis=0)
    bid = tl.program_id(axis=1)
    num_seqs = tl.num_programs(axis=1)
    kv_indices += kv_indices_stride * step
    kv_indptr += kv_indptr_stride * step
    caps += caps_stride * step
    iters = step + 1

    lane = tl.arange(0, bs_upper)
    present = lane < num_seqs
    lens = tl.load(paged_kernel_lens + lane, mask=present, other=0).to(tl.int64)
    kept = tl.minimum(lens, tl.load(caps + lane, mask=present, other=0).to(tl.int64))
    before = tl.sum(tl.where(lane < bid, kept, 0))
    seq_len = tl.load(paged_kernel_lens + bid).to(tl.int64)
    keep = tl.minimum(seq_len, tl.load(caps + bid).to(tl.int64))
    head = tl.minimum(sink_size, keep)
    recent_start = seq_len - (keep - head)

    kv_ptr = kv_indices + before + bid * iters
    token_pool_ptr = req_to_token + tl.load(req_pool_indices + bid) * row_stride
    copy_offset = tl.arange(0, BLOCK_SIZE)
    for _ in range(tl.cdiv(keep, BLOCK_SIZE)):
        mask = copy_offset < keep
        source = tl.where(copy_offset < head, copy_offset, recent_start + copy_offset - head)
        data = _load_token_ids(token_pool_ptr, source, mask, v2p, page_size, ENTRY_PAGE_SIZE, TRANSLATE)
        tl.store(kv_ptr + copy_offset, data, mask=mask)
        copy_offset += BLOCK_SIZE

    own = tl.arange(0, iter_upper)
    chain = _load_token_ids(
        token_pool_ptr, seq_len + own, own < iters, v2p, page_size, ENTRY_PAGE_SIZE, TRANSLATE
    )
    tl.store(kv_ptr + keep + own, chain, mask=own < iters)

    # Request 0's own offset is 0 already; its program writes the end of the last list instead.
    place = tl.where(bid == 0, num_seqs, bid)
    tl.store(kv_indptr + place, tl.sum(tl.where(lane < place, kept, 0)) + place * iters)
