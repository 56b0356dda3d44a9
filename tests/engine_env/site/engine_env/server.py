"""Starts a real SGLang server on the CPU, talks to it over HTTP, and ends it."""

import contextlib
import importlib.util
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ARGUMENTS = shlex.split(
    "--device cpu --dtype float32 --context-length 4096 --max-total-tokens 32768 --max-running-requests 8"
    " --disable-cuda-graph --skip-server-warmup --random-seed 1 --enable-metrics"
)


#: What the tiny models are made of; importing all the rest costs the scheduler two seconds.
MODELS = ("llama", "llama_eagle", "mimo", "mimo_mtp", "qwen2")


class Server:
    """``python -m sglang.launch_server`` with the given arguments, as a context manager.

    ``log`` gets all its output; ``env`` adds to the environment. Ready when the ``with`` block is entered.
    """

    def __init__(self, model, *arguments, log, env=None, ready_s=180):
        self.model, self.arguments, self.log, self.ready_s = Path(model), arguments, Path(log), ready_s
        inherited = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        self.env = {"SGLANG_DISABLED_MODEL_ARCHS": ",".join(unused_models())} | inherited | (env or {})
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def __enter__(self):
        command = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(self.model)]
        command += [*ARGUMENTS, "--port", str(self.port), *self.arguments]
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env=self.env, start_new_session=True
            )
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc):
        self.stop()

    def wait_until_ready(self):
        """Return once the server answers; raise with the end of its log when it dies or takes too long."""
        deadline = time.monotonic() + self.ready_s
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"server ended with {self.process.returncode}:\n{self.tail()}")
            with contextlib.suppress(OSError):
                self.get("/health")
                return
            time.sleep(0.3)
        raise TimeoutError(f"no answer in {self.ready_s} s:\n{self.tail()}")

    def stop(self, drain_s=0):
        """End the server and the processes it started; with ``drain_s`` it may first close down by itself."""
        if drain_s:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(drain_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def tail(self, lines=40):
        """Last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def get(self, path):
        """Body of a GET as text."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.read().decode()

    def post(self, path, body, timeout_s=300):
        """Answer to a JSON POST."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return json.loads(answer.read() or "null")

    def generate(self, prompts, max_new_tokens, **more):
        """Greedy output of a batch of token-id prompts: the server's answers, one a prompt, in order."""
        sampling = {"temperature": 0, "max_new_tokens": max_new_tokens, "ignore_eos": True, **more}
        return self.post("/generate", {"input_ids": prompts, "sampling_params": sampling})


def unused_models():
    """Names of SGLang's model modules that no tiny model needs."""
    folder = Path(importlib.util.find_spec("sglang").origin).parent / "srt" / "models"
    return sorted({path.stem for path in folder.glob("*.py")} - {*MODELS, "__init__", "registry"})


def free_port():
    """A TCP port nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
