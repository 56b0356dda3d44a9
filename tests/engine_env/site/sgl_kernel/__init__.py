"""Pure-torch stand-in for the CPU half of ``sgl_kernel`` (the PyPI wheel carries CUDA code only).

It offers just the operators that SGLang 0.5.23 reaches on a CPU host for a dense model with EAGLE-style
drafting. ``convert_weight_packed`` is left out on purpose: SGLang then sees no AMX weight packing and keeps
its own torch layers, so the same code path runs on every x86-64 machine, with AMX or without.
"""

import ctypes
import json
import os

import torch

from . import attention  # noqa: F401  (registers torch.ops.sgl_kernel.*)

_CHAINS = os.environ.get("CPU_ENGINE_CHAINS")  # a file that gets every verified batch as a line of JSON


def assign_req_to_token_pool_cpu(req_pool_indices, req_to_token, start, end, out_cache_loc, pool_len=None):
    at = 0
    for row, a, b in zip(req_pool_indices.tolist(), start.tolist(), end.tolist(), strict=True):
        req_to_token[row, a:b] = out_cache_loc[at : at + b - a].to(req_to_token.dtype)
        at += b - a


def assign_extend_cache_locs_cpu(req_pool_indices, req_to_token, start, end, out_cache_loc, pool_len=None):
    at = 0
    for row, a, b in zip(req_pool_indices.tolist(), start.tolist(), end.tolist(), strict=True):
        out_cache_loc[at : at + b - a] = req_to_token[row, a:b].to(out_cache_loc.dtype)
        at += b - a


def assign_draft_cache_locs_contiguous_cpu(
    req_pool_indices, req_to_token, seq_lens, out_cache_loc, pool_len, topk, num_cols
):
    n = topk * num_cols
    cols = seq_lens.long().unsqueeze(1) + torch.arange(n)
    out_cache_loc[: cols.numel()] = (
        req_to_token[req_pool_indices.long().unsqueeze(1), cols].flatten().to(out_cache_loc.dtype)
    )


def fill_bonus_tokens_cpu(accept_tokens, accept_lens, bonus_tokens, stride):
    rows = torch.arange(accept_lens.numel()) * stride
    bonus_tokens.copy_(accept_tokens.flatten()[rows + accept_lens.long() - 1])


def fill_accept_out_cache_loc_cpu(accept_index, out_cache_loc, accept_out_cache_loc):
    kept = accept_index.flatten()
    kept = kept[kept >= 0].long()
    accept_out_cache_loc[: kept.numel()] = out_cache_loc[kept]


def rotate_input_ids_cpu(input_ids, extend_start_loc, extend_seq_lens, topk_index, select_index=None):
    tails = topk_index.flatten().tolist()
    for i, (a, n) in enumerate(zip(extend_start_loc.tolist(), extend_seq_lens.tolist(), strict=True)):
        if n <= 0:
            continue
        input_ids[a : a + n - 1] = input_ids[a + 1 : a + n].clone()
        input_ids[a + n - 1 if select_index is None else int(select_index[i])] = tails[i]


def copy_all_layer_kv_cache_cpu(data_ptrs, strides, tgt_loc, src_loc):
    moves = list(zip(tgt_loc.tolist(), src_loc.tolist(), strict=True))
    for base, size in zip(data_ptrs.tolist(), strides.tolist(), strict=True):
        rows = [ctypes.string_at(base + src * size, size) for _, src in moves]
        for (tgt, _), row in zip(moves, rows, strict=True):
            ctypes.memmove(base + tgt * size, row, size)


def _parents(selected, parent_list, topk):
    """Parent slot (0 is the root) of each drafted slot 1..n-1 of one request."""
    slot = {s: i + 1 for i, s in enumerate(selected)}
    return [0] + [slot.get(parent_list[s // topk], -1) if s // topk else 0 for s in selected]


def build_tree_kernel_efficient_cpu(
    parent_list,
    top_scores_index,
    seq_lens,
    tree_mask,
    positions,
    retrieve_index,
    retrieve_next_token,
    retrieve_next_sibling,
    topk,
    spec_steps,
    num_verify_tokens,
    tree_mask_mode,
):
    if int(tree_mask_mode) > 1:
        raise NotImplementedError("bit-packed tree masks")
    n, at = num_verify_tokens, 0
    for b, length in enumerate(seq_lens.tolist()):
        parents = _parents(top_scores_index[b].tolist(), parent_list[b].tolist(), topk)
        mask = torch.zeros(n, n, dtype=torch.bool)
        depth = [0] * n
        mask[0, 0] = True
        nxt, sib = [-1] * n, [-1] * n
        for i in range(1, n):
            mask[i] = mask[parents[i]]
            mask[i, i] = True
            depth[i] = depth[parents[i]] + 1
        for i in range(n - 1, 0, -1):
            sib[i], nxt[parents[i]] = nxt[parents[i]], i
        width = n if int(tree_mask_mode) == 1 else length + n  # full rows carry the committed prefix first
        tree_mask.view(-1)[at : at + n * width].view(n, width)[:, width - n :] = mask.to(tree_mask.dtype)
        at += n * width
        positions.view(-1)[b * n : (b + 1) * n] = torch.tensor(depth) + length
        retrieve_index[b] = torch.arange(b * n, (b + 1) * n)
        retrieve_next_token[b] = torch.tensor(nxt)
        retrieve_next_sibling[b] = torch.tensor(sib)


def verify_tree_greedy_cpu(
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    flat_target, flat_predict = target_predict.flatten(), predicts.view(-1)
    for b in range(candidates.shape[0]):
        index, nxt, sib = (
            retrive_index[b].tolist(),
            retrive_next_token[b].tolist(),
            retrive_next_sibling[b].tolist(),
        )
        cand, here, accepted = candidates[b].tolist(), 0, 0
        accept_index[b, 0] = index[0]
        while accepted + 1 < accept_index.shape[1]:
            want, child = int(flat_target[index[here]]), nxt[here]
            while child != -1 and cand[child] != want:
                child = sib[child]
            if child == -1:
                break
            flat_predict[index[here]] = want
            accepted += 1
            accept_index[b, accepted] = index[child]
            here = child
        flat_predict[index[here]] = flat_target[index[here]]
        accept_token_num[b] = accepted
    if _CHAINS:
        with open(_CHAINS, "a") as file:
            print(
                json.dumps({"chains": candidates.tolist(), "accepted": accept_token_num.tolist()}), file=file
            )


def build_draft_decode_metadata_cpu(req_to_token, req_pool_indices, seq_lens, topk, num_steps, pool_len):
    """One page-table row per draft branch: the committed prefix, then that branch's own slots."""
    rows = req_to_token[req_pool_indices.long()].repeat_interleave(topk, dim=0)
    if topk > 1:
        for r, length in enumerate(seq_lens.repeat_interleave(topk).tolist()):
            a = length + (r % topk) * num_steps
            rows[r, length : length + num_steps] = req_to_token[
                req_pool_indices[r // topk], a : a + num_steps
            ]
    return rows.contiguous()
