"""Snapshots to draw and records to fold."""

import json
from io import StringIO

import pytest
from rich.console import Console

from adaptive_depth.runtime_hooks.live.snapshot import Decision, Link, RequestView, Snapshot
from adaptive_depth.runtime_hooks.log_record import header, record

NAN = float("nan")


@pytest.fixture
def busy():
    """A server with three requests, one of which the drafter does not suit."""

    def request(name, depth, window, context, rate, length, accepted, depths, positions):
        return RequestView(name, depth, window, context, 40, rate, length, accepted, depths, positions)

    requests = (
        request("chat-1[bold]", 3, 0, 1203, 41.23, 2.5, (0, 1, 3, 3, 2), (1, 3, 3, 3, 3), (0.8, 0.6, 0.4)),
        request(f"9f86d081{'84c7d659' * 3}", 3, 512, 131_072, 88.0, 3.1, (3,) * 32, (3,) * 32, (1.0,) * 3),
        request("code-7", 3, 4096, 1_048_576, NAN, 1.0, (0, 0, 0), (0, 3, 3), (0.0, NAN, NAN)),
    )
    return Snapshot(
        link=Link.LIVE,
        source="build/demo-log",
        model="org/model",
        policy="marginal",
        rounds=12_345,
        finished=17,
        depth=3,
        batch=3,
        accept_length=2.413,
        tokens_per_second=1234.5,
        round_ms=31.24,
        draft_ms=8.1,
        verify_ms=18.04,
        extend_ms=5.1,
        plan_us=74.2,
        speedup=1.634,
        speedup_basis="measured",
        switches_per_1000=43.0,
        depth_rounds=((0, 30), (1, 200), (3, 670), (5, 100)),
        window_rows=((0, 1000), (512, 900), (4096, 100)),
        decisions=(Decision(12_340, 5, 3, "shallower"), Decision(12_300, 3, 5, "deepen")),
        requests=requests,
    )


@pytest.fixture
def text_of():
    """``text_of(renderable, width)``: what a terminal of that width would show, without colours."""

    def text(renderable, width, **settings):
        console = Console(file=StringIO(), width=width, **settings)
        console.print(renderable)
        return console.file.getvalue()

    return text


@pytest.fixture
def as_records(start_event):
    """``as_records(events)``: the lines of a log, parsed, behind its header."""

    def make(events, run="0a1b2c3d", part=0):
        written = [header(start_event, run, part), *map(record, events)]
        return [json.loads(json.dumps(item)) for item in written]

    return make
