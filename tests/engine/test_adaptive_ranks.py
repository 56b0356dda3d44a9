"""Ranks of a tensor-parallel server compare their plans over a real process group, two processes of it."""

import multiprocessing
from types import SimpleNamespace

import numpy as np

#: (depth, windows) of both ranks, round by round; None is a rank that has no plan.
ROUNDS = [
    ((3, [0, 64]), (3, [0, 64])),
    ((3, [0, 64]), (5, [0, 64])),
    ((0, [0, 0]), (0, [0, 0])),
    ((3, [0, 64]), (3, [64, 0])),
    (None, None),
    ((3, [0, 64]), None),
    (None, (0, [0, 0])),
]
AGREED = [True, False, True, False, True, False, False]


def planned(plan):
    """What a rank planned, as far as it is compared."""
    if plan is None:
        return None
    depth, windows = plan
    view = SimpleNamespace(slot=np.arange(2), context=np.array([100, 200]))
    return SimpleNamespace(depth=depth, plan=SimpleNamespace(window=np.array(windows)), view=view)


def rank_main(rank, port, answers):
    """One rank: join the group, compare every round."""
    import torch.distributed as dist

    from adaptive_depth.runtime_hooks.agreement import GroupAgreement

    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    agree = GroupAgreement(lambda values: dist.all_reduce(values, dist.ReduceOp.MAX))
    answers.put((rank, [agree(planned(pair[rank])) for pair in ROUNDS]))
    dist.destroy_process_group()


def test_every_rank_sees_a_difference_in_the_same_round():
    """Depth, windows, and a plan that only one rank has: both answer alike, so both stop at once."""
    from engine_env.server import free_port

    context, port = multiprocessing.get_context("fork"), free_port()
    answers = context.Queue()
    ranks = [context.Process(target=rank_main, args=(rank, port, answers)) for rank in (0, 1)]
    for process in ranks:
        process.start()
    got = dict(answers.get(timeout=60) for _ in ranks)
    for process in ranks:
        process.join(30)
    assert got == {0: AGREED, 1: AGREED}
