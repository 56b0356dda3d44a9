"""Windows per request on the interpreted Triton backend: index for index, and against the CPU backend."""

import json
import os
import random
import shlex

import pytest

FULL = 1 << 30
#: Random plans only: nothing learned from times, so two servers plan the same.
POLICY = {
    "policy": "test-random",
    "parameters": {"share": 1.0, "seed": 3},
    "candidates": {"depths": [0, 1, 3, 5], "windows": [0, 8, 32], "sink": 4, "start_depth": 3},
}
FLAGS = (
    "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1"
    " --speculative-num-draft-tokens 4 --adaptive-depth --adaptive-depth-config {policy}"
)


@pytest.fixture(scope="module", autouse=True)
def interpreted():
    """Without the interpreter there is no kernel to run here."""
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.fail("set TRITON_INTERPRET=1 before the first import of triton (make test-engine does)")


def launch_ours(table, rows, lengths, caps, sink):
    """Run our kernel for a chain: (indices, indptr), a row a step; what is not written stays -1."""
    import torch
    from engine_env.index_reference import power_of_2

    from adaptive_depth.runtime_hooks.windows_triton import launch_capped

    steps, requests = len(caps), len(rows)
    indices = torch.full((steps, sum(lengths) + requests * steps), -1, dtype=torch.int64)
    indptr = torch.zeros((steps, requests + 1), dtype=torch.int32)
    length, cap = torch.tensor(lengths), torch.tensor(caps)
    stock = (
        *(torch.tensor(rows), table, length, indices, indptr, length.clone(), table.stride(0)),
        *(indices.shape[1], indptr.shape[1], power_of_2(requests), power_of_2(steps)),
        *(power_of_2(requests), 1, 0, 0),
    )
    launch_capped((steps, requests), stock, {}, cap, cap.stride(0), sink)
    return indices, indptr


@pytest.mark.parametrize("seed", range(25))
def test_mixed_caps_equal_the_plain_reference(seed):
    """A cap of its own for every request and step, 0 and 'everything' among them: index for index."""
    from engine_env.index_reference import draft_indices, random_pool

    rng = random.Random(seed)
    requests, steps, longest = rng.randint(1, 8), rng.randint(1, 7), rng.choice((5, 60, 300, 700))
    sink = rng.choice((0, 1, 4, 64))
    table, rows, lengths = random_pool(requests, longest + steps, longest, rng)
    choices = (0, 1, sink, sink + 8, sink + 130, FULL)
    caps = [[rng.choice(choices) for _ in range(requests)] for _ in range(steps)]
    indices, indptr = launch_ours(table, rows, lengths, caps, sink)
    for step, (flat, offsets) in enumerate(draft_indices(table, rows, lengths, caps, sink)):
        assert indptr[step].tolist() == offsets
        assert indices[step, : offsets[-1]].tolist() == flat
        assert (indices[step, offsets[-1] :] == -1).all()


@pytest.mark.parametrize("seed", range(12))
def test_equal_caps_equal_the_stock_kernel(seed):
    """One window for all: our kernel writes what SGLang's own does."""
    import torch
    from engine_env.index_reference import launch_stock, random_pool
    from sglang.kernels.ops.speculative.cache_locs import generate_draft_decode_kv_indices

    rng = random.Random(100 + seed)
    requests, steps, longest = rng.randint(1, 8), rng.randint(1, 7), rng.choice((9, 90, 500))
    window, sink = rng.choice((1, 8, 100, 1000)), rng.choice((0, 1, 4, 64))
    table, rows, lengths = random_pool(requests, longest + steps, longest, rng)
    indices, indptr = launch_stock(
        generate_draft_decode_kv_indices, table, rows, lengths, steps, window, sink
    )
    ours = launch_ours(table, rows, lengths, [[window + sink] * requests] * steps, sink)
    assert torch.equal(ours[1], indptr)
    for step in range(steps):
        end = int(indptr[step, -1])
        assert torch.equal(ours[0][step, :end], indices[step, :end])


@pytest.mark.parametrize("seed", range(20))
def test_pieces_of_the_extend_prefix(seed):
    """Sink piece and recent piece are the prefix positions a window keeps, in order."""
    import torch

    from adaptive_depth.runtime_hooks.windows_triton import prefix_pieces

    rng = random.Random(seed)
    lengths = [rng.randint(0, 60) for _ in range(5)]
    caps, sink = [rng.choice((0, 3, 9, 40, FULL)) for _ in lengths], rng.choice((0, 3, 4))
    sizes, starts = prefix_pieces(torch.tensor(lengths), torch.tensor(caps), sink)
    for i, (length, cap) in enumerate(zip(lengths, caps, strict=True)):
        pieces = [range(int(starts[j]), int(starts[j] + sizes[j])) for j in (2 * i, 2 * i + 1)]
        keep = min(length, cap)
        head = min(sink, keep)
        assert [*pieces[0], *pieces[1]] == [*range(head), *range(length - keep + head, length)]


@pytest.fixture(scope="module")
def twins(models, tmp_path_factory):
    """The same requests under the same plans on both backends: ``{backend: (outputs, rounds, batch)}``.

    One after the other first, so that the rounds do not hang on arrival times, then together.
    """
    from engine_env.events import read
    from engine_env.recording import prompts
    from engine_env.server import Server

    from adaptive_depth.runtime_hooks.events import RoundEvent

    done = {}
    for backend in ("intel_amx", "triton"):
        folder = tmp_path_factory.mktemp(backend)
        (folder / "policy.json").write_text(json.dumps(POLICY))
        flags = [*shlex.split(FLAGS.format(policy=folder / "policy.json")), "--attention-backend", backend]
        env = {"CPU_ENGINE_RULES": "1", "CPU_ENGINE_EVENTS": str(folder / "events")}
        env |= {"TRITON_INTERPRET": "1"} if backend == "triton" else {}
        with Server(models["tiny-mimo"], *flags, log=folder / "server.log", env=env) as server:
            alone = [server.generate([ids], 14)[0]["output_ids"] for ids in prompts(3)]
            first = len([event for event in read(folder / "events") if isinstance(event, RoundEvent)])
            together = [answer["output_ids"] for answer in server.generate(prompts(3), 10)]
        rounds = [event for event in read(folder / "events") if isinstance(event, RoundEvent)]
        done[backend] = alone, rounds[:first], together
    return done


def test_both_backends_accept_the_same_drafts(twins):
    """Under windows that change every round, draft-extend's too, both accept the very same drafts.

    The two share no line of window code: on one the page table is cut, on the other an index list is built.
    """
    (cpu_tokens, cpu, _), (triton_tokens, triton, _) = twins["intel_amx"], twins["triton"]
    assert cpu_tokens == triton_tokens
    assert len(cpu) == len(triton) > 12
    assert {row.window for event in cpu for row in event.rows} == {0, 8, 32}
    for one, two in zip(cpu, triton, strict=True):
        assert one.depth == two.depth
        pairs = zip(one.rows, two.rows, strict=True)
        assert all((a.window, a.context, a.accepted) == (b.window, b.context, b.accepted) for a, b in pairs)


def test_whole_server_is_token_exact(twins, recording):
    """Windows change drafts, never tokens, alone and with a window of its own each in one batch."""
    plain = recording("plain").outputs[:3]
    assert twins["triton"][0] == [ids[:14] for ids in plain]
    assert twins["triton"][2] == twins["intel_amx"][2] == [ids[:10] for ids in plain]
