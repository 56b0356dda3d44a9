"""One run of a server: what it answered to the same prompts, and the chains it verified on the way."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from engine_env.models import VOCAB
from engine_env.server import Server


def prompts(number=6, seed=0):
    """Token-id prompts of unlike lengths, from 9 tokens on, by turns of the easy and of the hard half."""
    half = VOCAB // 2 - 2  # without the last two, which mark begin and end
    starts = [half * (i % 2) for i in range(number)]
    return [
        [a + (7 * i + 13 * j * (i + 1) + seed) % half for j in range(9 + 37 * i)]
        for i, a in enumerate(starts)
    ]


@dataclass(frozen=True)
class Recording:
    """``outputs`` and ``meta`` hold a row a prompt; ``batches`` a verified batch each, in order."""

    outputs: list
    meta: list
    batches: list
    server_info: dict
    metrics: str
    log: str

    @property
    def widths(self):
        """How often each verify width (depth + 1) ran."""
        return Counter(len(batch["chains"][0]) for batch in self.batches)

    @property
    def accepted(self):
        """How often each number of accepted drafts was seen, over all requests and rounds."""
        return Counter(count for batch in self.batches for count in batch["accepted"])


def record(folder, model, *arguments, env=None, tokens=120, number=6):
    """Start a server, let it answer :func:`prompts`, note everything, end it.

    The first prompt runs alone, so that its rounds do not hang on arrival times; the rest are one batch.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    chains, log = folder / "chains.jsonl", folder / "server.log"
    chains.unlink(missing_ok=True)
    with Server(model, *arguments, log=log, env={"CPU_ENGINE_CHAINS": str(chains), **(env or {})}) as server:
        alone, *rest = prompts(number)
        answers = server.generate([alone], tokens) + server.generate(rest, tokens)
        info, metrics = json.loads(server.get("/server_info")), server.get("/metrics")
    lines = chains.read_text().splitlines() if chains.exists() else []
    return Recording(
        outputs=[answer["output_ids"] for answer in answers],
        meta=[answer["meta_info"] for answer in answers],
        batches=[json.loads(line) for line in lines],
        server_info=info,
        metrics=metrics,
        log=log.read_text(errors="replace"),
    )
