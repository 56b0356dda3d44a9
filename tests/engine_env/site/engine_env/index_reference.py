"""Plain reference of the index lists a draft-decode step reads, and a launcher of the stock Triton kernel."""


def draft_indices(table, rows, lengths, caps, sink):
    """Index list and offsets of every step: ``[(flat, offsets), ...]``.

    ``caps[step][request]`` bounds the prefix tokens read (None: all): the first ``sink`` of them and the most
    recent rest; the request's own ``step + 1`` chain slots follow.
    """
    return [one_step(table, rows, lengths, step_caps, step, sink) for step, step_caps in enumerate(caps)]


def one_step(table, rows, lengths, caps, step, sink):
    """One step of :func:`draft_indices`."""
    flat, offsets = [], [0]
    for row, length, cap in zip(rows, lengths, caps, strict=True):
        kept = length if cap is None else min(length, cap)
        head = min(sink, kept)
        places = [*range(head), *range(length - kept + head, length), *range(length, length + step + 1)]
        flat += [int(table[row][place]) for place in places]
        offsets.append(len(flat))
    return flat, offsets


def random_pool(requests, columns, longest, rng):
    """A page table of distinct slots, the rows in use in random order, and their prefix lengths."""
    import torch

    slots = list(range(1, (requests + 3) * columns + 1))
    rng.shuffle(slots)
    table = torch.tensor(slots, dtype=torch.int32).view(requests + 3, columns)
    rows = rng.sample(range(requests + 3), requests)
    return table, rows, [rng.randint(1, longest) for _ in range(requests)]


def launch_stock(kernel, table, rows, lengths, steps, window, sink):
    """Run ``generate_draft_decode_kv_indices`` for a chain (topk 1): (indices, indptr), a row a step."""
    import torch

    requests, width = len(rows), sum(lengths) + len(rows) * steps
    indices = torch.full((steps, width), -1, dtype=torch.int64)
    indptr = torch.zeros((steps, requests + 1), dtype=torch.int32)
    length = torch.tensor(lengths)
    kernel[(steps, requests, 1)](
        *(torch.tensor(rows), table, length, indices, indptr, length.clone(), table.stride(0)),
        *(indices.shape[1], indptr.shape[1], power_of_2(requests), power_of_2(steps), power_of_2(requests)),
        *(1, window, sink),
    )
    return indices, indptr


def power_of_2(number):
    """Smallest power of two not below ``number``."""
    return 1 << (number - 1).bit_length()
