"""Environment variables of the CPU engine; a ``.pth`` line of its environment imports this at start-up."""

import os

for _name, _value in {
    "SGLANG_USE_CPU_ENGINE": "1",  # SGLang takes the machine for a CPU host only when told so
    "TORCHDYNAMO_DISABLE": "1",  # else the first speculative batch spends half a minute in inductor
    "OMP_NUM_THREADS": "1",  # the models are too small to gain from more
}.items():
    os.environ.setdefault(_name, _value)
