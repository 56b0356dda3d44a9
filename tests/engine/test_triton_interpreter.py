"""Stock Triton kernels under the interpreter: the oracle for draft windows and their index lists."""

import os
import random

import pytest

FEW = {"tokens": 10, "number": 2}
CASES = [
    # requests, steps, window, sink, longest prefix
    (1, 3, 0, 0, 40),
    (4, 5, 0, 0, 300),
    (1, 3, 8, 0, 40),
    (3, 4, 16, 4, 200),
    (5, 7, 64, 4, 64),
    (5, 2, 1, 1, 30),
    (8, 6, 128, 128, 900),
]


@pytest.fixture(scope="module")
def kernel():
    """The stock index kernel, interpreted."""
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.fail("set TRITON_INTERPRET=1 before the first import of triton (make test-engine does)")
    from sglang.kernels.ops.speculative.cache_locs import generate_draft_decode_kv_indices

    return generate_draft_decode_kv_indices


@pytest.mark.parametrize(("requests", "steps", "window", "sink", "longest"), CASES)
def test_index_kernel_equals_the_plain_reference(kernel, requests, steps, window, sink, longest):
    """Index for index: sink, most recent window of the committed prefix, then the chain's own slots."""
    from engine_env.index_reference import draft_indices, launch_stock, random_pool

    table, rows, lengths = random_pool(
        requests, longest + steps, longest, random.Random(steps * 100 + requests)
    )
    indices, indptr = launch_stock(kernel, table, rows, lengths, steps, window, sink)
    cap = window + sink if window else None
    want = draft_indices(table, rows, lengths, [[cap] * requests] * steps, sink)
    for step, (flat, offsets) in enumerate(want):
        assert indptr[step, : requests + 1].tolist() == offsets
        assert indices[step, : offsets[-1]].tolist() == flat


def test_whole_server_is_token_exact(recording):
    """The Triton backend, interpreted, drafts and verifies like the CPU backend."""
    plain = [ids[: FEW["tokens"]] for ids in recording("plain").outputs[: FEW["number"]]]
    assert recording("triton-window", **FEW).outputs == plain


def test_window_changes_drafts_and_only_from_the_second_on(recording):
    """Against the unwindowed CPU chains: same root and first draft, some later draft differs."""
    windowed = chains_by_root(recording("triton-window", **FEW))
    full = chains_by_root(recording("nextn"))
    both = windowed.keys() & full.keys()
    assert len(both) >= 5
    assert any(windowed[key] != full[key] for key in both)


def chains_by_root(run):
    """Verified chains by their first two tokens, the bonus token and the first draft."""
    return {tuple(chain[:2]): chain for batch in run.batches for chain in batch["chains"]}
