"""Random traffic against servers that plan at random, every token compared with that of a plain server.

``python -m engine_env.soak MODELS FOLDER [ROUNDS]`` runs it over all configurations and prints what was
compared.
"""

import json
import random
import shlex
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from engine_env.events import read
from engine_env.models import VOCAB, make
from engine_env.server import Server

CHAIN = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
OURS = f"{CHAIN} --adaptive-depth --adaptive-depth-config"
EAGLE = "--speculative-algorithm EAGLE --speculative-draft-model-path {eagle}"
OVERLAP = {"TRITON_INTERPRET": "1", "CPU_ENGINE_OVERLAP": "1"}
#: SGLang's own switch to retract a running request every so many rounds.
RETRACT = {"SGLANG_TEST_RETRACT": "1", "SGLANG_TEST_RETRACT_INTERVAL": "29"}
CONFIGURATIONS = {
    "nextn": (f"--speculative-algorithm NEXTN {OURS} {{random}}", RETRACT),
    "eagle": (f"{EAGLE} {OURS} {{random}} --disable-radix-cache --chunked-prefill-size 128", {}),
    "overlap": (f"--speculative-algorithm NEXTN {OURS} {{random}}", OVERLAP | RETRACT),
    "faulty": (f"--speculative-algorithm NEXTN {OURS} {{faulty}}", {}),
    "broken": (f"--speculative-algorithm NEXTN {OURS} {{random}}", {"CPU_ENGINE_BREAK": "1"}),
}
CANDIDATES = {"depths": [0, 1, 2, 3, 5, 7], "windows": [0, 8, 40], "sink": 4, "start_depth": 3}
LONGEST, PROMPTS = 160, 24
#: Tokens of the reference: a request that is aborted as it ends may bring one whole chain more.
ASKED = LONGEST + 8


@dataclass
class Tally:
    """What was sent and compared; ``wrong`` holds the requests whose tokens differ."""

    requests: int = 0
    tokens: int = 0
    aborted: int = 0
    stopped: int = 0
    wrong: list = field(default_factory=list)
    batches: dict = field(default_factory=dict)


def prompts():
    """Token-id prompts of 5 to 150 tokens, some beginning alike, from both halves of the vocabulary."""
    rng, half = random.Random(5), VOCAB // 2 - 2
    shared = [[rng.randrange(half) + half * side for _ in range(40)] for side in (0, 1)]
    made = []
    for number in range(PROMPTS):
        side = number % 2
        own = [rng.randrange(half) + half * side for _ in range(rng.choice((5, 20, 60, 110)))]
        made.append((shared[side] if number % 3 == 0 else []) + own)
    return made


def reference(models, folder):
    """What a server without speculation answers to every prompt, made once and kept in ``folder``."""
    file = Path(folder) / "reference.json"
    stamp = (models["tiny-mimo"].parent / "made-by").read_text()
    if file.exists():
        kept = json.loads(file.read_text())
        same = (kept["made_by"], kept["prompts"], len(kept["outputs"][0])) == (stamp, prompts(), ASKED)
        if same:
            return kept["outputs"]
    with Server(models["tiny-mimo"], log=file.with_suffix(".log")) as server:
        outputs = [answer["output_ids"] for answer in server.generate(prompts(), ASKED)]
    file.write_text(json.dumps({"made_by": stamp, "prompts": prompts(), "outputs": outputs}))
    return outputs


def policies(folder):
    """Policy files of the two test rules."""
    made = {}
    for name in ("random", "faulty"):
        made[name] = Path(folder) / f"{name}.json"
        made[name].write_text(json.dumps({"policy": f"test-{name}", "candidates": CANDIDATES}))
    return made


class Traffic:
    """Sends random requests to one server and compares what comes back."""

    def __init__(self, server, wanted, seed, abort_share=0.15):
        self.server, self.wanted, self.abort_share = server, wanted, abort_share
        self.random, self.lock, self.tally = random.Random(seed), threading.Lock(), Tally()

    def run(self, requests, width):
        """Send ``requests`` of them, ``width`` at a time."""
        with ThreadPoolExecutor(width) as pool:
            for done in [pool.submit(self.one) for _ in range(requests)]:
                done.result()

    def one(self):
        """One request: whole, ended in mid-chain by a stop token, or aborted after a while."""
        with self.lock:
            number = self.random.randrange(PROMPTS)
            length = self.random.randint(1, self.random.choice((9, LONGEST, LONGEST)))
            kind, wait = self.random.random(), self.random.uniform(0.0, 0.25)
        want, stop = self.wanted[number][:length], None
        if kind < self.abort_share:
            return self.aborted(number, length, wait)
        if kind < self.abort_share + 0.2 and length > 8:
            stop = want[length * 2 // 3]
            ends = [want.index(token) for token in (stop, VOCAB - 1) if token in want]
            want = want[: min(ends) + 1]
        more = {} if stop is None else {"stop_token_ids": [stop], "ignore_eos": False}
        got = self.server.generate([prompts()[number]], length, **more)[0]
        self.compare(number, got["output_ids"], want, stopped=stop is not None)

    def aborted(self, number, length, wait):
        """Abort while it waits or runs; what came by then is a prefix of what would have come.

        SGLang hands out the whole chain of the round an abort falls into, beyond the length asked for too.
        """
        rid = uuid.uuid4().hex
        sampling = {"temperature": 0, "max_new_tokens": length, "ignore_eos": True}
        body = {"rid": rid, "input_ids": prompts()[number], "sampling_params": sampling}
        timer = threading.Timer(wait, self.server.post, ("/abort_request", {"rid": rid}))
        timer.start()
        try:
            got = self.server.post("/generate", body)["output_ids"]
        except OSError:  # aborted before it ran: the server answers with an error
            got = []
        timer.join()
        want = self.wanted[number][: len(got)]
        self.compare(number, got, want, aborted=len(got) < length)

    def compare(self, number, got, want, stopped=False, aborted=False):
        """Count, and keep what differs."""
        with self.lock:
            self.tally.requests += 1
            self.tally.tokens += len(got)
            self.tally.stopped += stopped
            self.tally.aborted += aborted
            if got != want:
                self.tally.wrong.append((number, got, want))


@dataclass(frozen=True)
class Soaked:
    """One configuration's outcome: the tally, the plugin's events, and its state at the end."""

    tally: Tally
    events: list
    state: dict
    log: str
    #: Memory of the server's processes in MiB, after a third of the requests and at the end.
    memory: tuple


def soak(name, models, folder, wanted, requests, seed=0, abort_share=0.15):
    """Start the named configuration, send it waves of requests of 1 to 8 at a time, and look at its state."""
    folder = Path(folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    arguments, env = CONFIGURATIONS[name]
    events, log = folder / "events.pickle", folder / "server.log"
    events.unlink(missing_ok=True)
    files = policies(folder)
    arguments = shlex.split(arguments.format(eagle=models["tiny-eagle"], **files))
    env = {"CPU_ENGINE_RULES": "1", "CPU_ENGINE_EVENTS": str(events), **env}
    with Server(models["tiny-mimo"], *arguments, log=log, env=env) as server:
        for file in files.values():
            file.unlink()  # what was read at the start is not read again
        traffic, memory = Traffic(server, wanted, seed, abort_share), []
        for wave, width in enumerate((1, 8, 3, 8, 2, 6)):
            traffic.run(requests // 6 if wave else requests - 5 * (requests // 6), width)
            memory.append(resident_mib(server.process.pid))
        state = json.loads(server.get("/server_info"))["internal_states"][0]["adaptive_depth"]
    return Soaked(
        traffic.tally, read(events), state, log.read_text(errors="replace"), (memory[1], memory[-1])
    )


def resident_mib(pid):
    """Resident memory of a process and its children."""
    import psutil

    parent = psutil.Process(pid)
    return round(sum(p.memory_info().rss for p in (parent, *parent.children(recursive=True))) / 2**20)


def line(tally, counts):
    """One configuration's figures."""
    return (
        f"{tally.tokens:7} tokens of {tally.requests} requests compared, {len(tally.wrong)} wrong; "
        f"{tally.stopped} stopped, {tally.aborted} aborted; {counts['rounds']} rounds, "
        f"{counts['switches']} switches, depths {counts['depths']}, windows {counts['windows']}, "
        f"{counts['faults']} faults"
    )


def main(models, folder, requests=600):
    """All configurations; the exit code is 1 where a token differs."""
    models, folder = make(models), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    wanted, total, wrong = reference(models, folder), 0, 0
    for seed, name in enumerate(CONFIGURATIONS):
        start = time.monotonic()
        done = soak(name, models, folder, wanted, requests, seed)
        tally = done.tally
        for number, got, want in tally.wrong:
            print(f"prompt {number}: got {got}, expected {want}")
        total, wrong = total + tally.tokens, wrong + len(tally.wrong)
        told = line(tally, done.state["counts"])
        print(f"{name:8} {told}, {done.memory} MiB; {time.monotonic() - start:.0f} s", flush=True)
    print(f"{'all':8} {total:7} tokens compared, {wrong} requests wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:])))
