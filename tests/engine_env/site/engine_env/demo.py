"""``python -m engine_env.demo MODELS LOG_DIR [SECONDS]``: a small server with adaptive depth to look at.

It answers a few requests at once, so that there is something to watch, and goes on until it is interrupted
or the seconds are over.
"""

import json
import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine_env.models import make
from engine_env.recording import prompts
from engine_env.server import Server

FLAGS = (
    "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1"
    " --speculative-num-draft-tokens 4 --adaptive-depth --adaptive-depth-config {policy}"
    " --adaptive-depth-log {log}"
)
POLICY = {"policy": "marginal", "candidates": {"windows": [0, 64], "sink": 4, "start_depth": 3}}


def main(models, log, seconds=None):
    """Start, show, serve."""
    log = Path(log)
    log.mkdir(parents=True, exist_ok=True)
    policy = log.parent / "demo-policy.json"
    policy.write_text(json.dumps(POLICY, indent=2) + "\n")
    output = log.parent / "demo-server.log"
    arguments = shlex.split(FLAGS.format(policy=policy, log=log))
    print(f"starting a server on the CPU; its own output goes to {output}", flush=True)
    with Server(make(models)["tiny-mimo"], *arguments, log=output) as server:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda ids: server.generate([ids], 120), prompts(8)))
        print(told(server.url, log), flush=True)
        try:
            time.sleep(float(seconds) if seconds else float(10**8))
        except KeyboardInterrupt:
            print("ending")


def told(url, log):
    """How to use what is running."""
    body = json.dumps({"text": "hello", "sampling_params": {"temperature": 0, "max_new_tokens": 200}})
    return f"""
serving at {url}; eight requests are done already

send a request:   curl -s {url}/generate -H 'Content-Type: application/json' -d '{body}'
watch it:         .venv/bin/adaptive-depth watch {log}
or over HTTP:     .venv/bin/adaptive-depth watch {url}
pin the depth:    curl -s {url}/set_internal_state -H 'Content-Type: application/json' \\
                    -d '{{"server_args": {{"adaptive_depth_force": 5}}}}'      (-1 releases it)
replay the log:   .venv/bin/sim import {log} --out build/demo-traces && .venv/bin/sim replay build/demo-traces

Ctrl-C ends it.
"""


if __name__ == "__main__":
    main(*sys.argv[1:])
