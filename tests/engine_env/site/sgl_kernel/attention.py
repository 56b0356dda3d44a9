"""Paged attention in plain torch, registered under the two operator names that ``intel_amx`` looks up."""

import torch

_lib = torch.library.Library("sgl_kernel", "FRAGMENT")

_lib.define(
    "extend_attention_cpu(Tensor q, Tensor? k, Tensor? v, Tensor(a!) o, Tensor k_buffer, Tensor v_buffer,"
    " float k_scale, float v_scale, Tensor req_to_token, Tensor req_pool_indices, Tensor seq_lens,"
    " Tensor extend_seq_lens, Tensor extend_start_loc, int max_extend_len, float scale, float logit_cap,"
    " bool is_cross_attn, int window, Tensor? encoder_lens, Tensor? sinks, Tensor? tree_mask,"
    " bool is_causal) -> ()"
)
_lib.define(
    "decode_attention_cpu(Tensor q, Tensor(a!) k_buffer, Tensor(b!) v_buffer, float k_scale, float v_scale,"
    " Tensor(c!) o, Tensor? k, Tensor? v, Tensor loc, Tensor attn_logits, Tensor req_to_token,"
    " Tensor req_pool_indices, Tensor seq_lens, float scale, float logit_cap, bool is_cross_attn, int window,"
    " Tensor? encoder_lens, Tensor? sinks) -> ()"
)


def _attend(q, k, v, scale, logit_cap, sinks, allowed):
    """q [n, hq, d], k [m, hk, d], v [m, hk, dv], allowed [n, m] or None -> [n, hq, dv]; in float32."""
    group = q.shape[1] // k.shape[1]
    q, k, v = q.float(), k.float(), v.float()
    q = q.view(q.shape[0], k.shape[1], group, q.shape[2])
    score = torch.einsum("nhgd,mhd->hgnm", q, k) * scale
    if logit_cap > 0:
        score = logit_cap * torch.tanh(score / logit_cap)
    if allowed is not None:
        score.masked_fill_(~allowed, float("-inf"))
    if sinks is not None:
        extra = sinks.float().view(k.shape[1], group, 1, 1).expand(*score.shape[:3], 1)
        prob = torch.cat([score, extra], -1).softmax(-1)[..., :-1]
    else:
        prob = score.softmax(-1)
    return torch.einsum("hgnm,mhd->nhgd", prob, v).reshape(q.shape[0], -1, v.shape[-1])


def _extend(
    q,
    k,
    v,
    o,
    k_buffer,
    v_buffer,
    k_scale,
    v_scale,
    req_to_token,
    req_pool_indices,
    seq_lens,
    extend_seq_lens,
    extend_start_loc,
    max_extend_len,
    scale,
    logit_cap,
    is_cross_attn,
    window,
    encoder_lens,
    sinks,
    tree_mask,
    is_causal,
):
    if encoder_lens is not None or is_cross_attn:
        raise NotImplementedError("cross attention")
    spans = (req_pool_indices, seq_lens, extend_seq_lens, extend_start_loc)
    for b, (row, total, n, at) in enumerate(zip(*(span.tolist() for span in spans), strict=True)):
        if n == 0:
            continue
        slots = req_to_token[row, :total].long()
        where = torch.arange(total - n, total).unsqueeze(1)
        keys = torch.arange(total)
        allowed = keys <= where if is_causal else None
        if tree_mask is not None:
            allowed = torch.ones(n, total, dtype=torch.bool)
            allowed[:, total - n :] = tree_mask.view(-1)[b * n * n : (b + 1) * n * n].view(n, n).bool()
        if window > 0:
            near = keys > where - window
            allowed = near if allowed is None else allowed & near
        o[at : at + n] = _attend(
            q[at : at + n], k_buffer[slots], v_buffer[slots], scale, logit_cap, sinks, allowed
        ).to(o.dtype)


def _decode(
    q,
    k_buffer,
    v_buffer,
    k_scale,
    v_scale,
    o,
    k,
    v,
    loc,
    attn_logits,
    req_to_token,
    req_pool_indices,
    seq_lens,
    scale,
    logit_cap,
    is_cross_attn,
    window,
    encoder_lens,
    sinks,
):
    if encoder_lens is not None or is_cross_attn:
        raise NotImplementedError("cross attention")
    if k is not None:
        k_buffer[loc.long()] = k.view(-1, *k_buffer.shape[1:]).to(k_buffer.dtype)
        v_buffer[loc.long()] = v.view(-1, *v_buffer.shape[1:]).to(v_buffer.dtype)
    for b, (row, total) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=True)):
        slots = req_to_token[row, max(0, total - window) if window > 0 else 0 : total].long()
        o[b : b + 1] = _attend(
            q[b : b + 1], k_buffer[slots], v_buffer[slots], scale, logit_cap, sinks, None
        ).to(o.dtype)


_lib.impl("extend_attention_cpu", _extend, "CPU")
_lib.impl("decode_attention_cpu", _decode, "CPU")
