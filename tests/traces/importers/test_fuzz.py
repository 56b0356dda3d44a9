"""No bytes make an importer raise: random ones, and valid samples with anything in any place."""

import copy
import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adaptive_depth.traces.importers import IMPORTERS, Head, recognise
from adaptive_depth.traces.store import TraceReader, write_trace

SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
#: Values that have broken JSON readers before.
NUMBERS = [True, False, -1, 0, 1, 1.5, 2.0, 1e308, float("nan"), float("inf"), 10**30, 2**63]
OTHERS = [None, "", "3", "\ud800", [], {}, [None], [[]], {"0": 1}, [True], [2**40], [-1], [10**9]]
ODD = st.sampled_from([*NUMBERS, *OTHERS]).map(copy.deepcopy)  # a later change must not reach the list
WORDS = st.sampled_from(["nan,", "-1,", "1e99,", "9" * 40, "", "0,", "\x00", "٣,", "inf", "1.2.3"])


def survives(content: bytes, importers=IMPORTERS) -> None:
    """Look at ``content`` and read it with every importer; what is read must be writable and readable."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fuzz")
        path.write_bytes(content)
        recognise(path)
        Head(path).why_unknown()
        for importer in importers:
            for number, (header, block) in enumerate(importer.read(path).traces):
                target = Path(folder, f"{number}.trace.parquet")
                write_trace(target, header, [block])
                reader = TraceReader(target)
                assert sum(b.requests for b in reader.blocks()) == block.requests and not reader.problems


@given(st.binary(max_size=2000))
@SETTINGS
def test_random_bytes(content):
    """Bytes that mean nothing."""
    survives(content)


@given(st.text(max_size=600).map(lambda text: text.encode(errors="surrogatepass")))
@SETTINGS
def test_random_text(content):
    """Text that means nothing."""
    survives(content)


@given(st.data())
@SETTINGS
def test_samples_with_bytes_cut_swapped_and_inserted(sample, data):
    """A valid file after bit rot: what is still read is still sound."""
    content = bytearray(sample.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["cut", "set", "insert", "double"]))
        if kind == "cut":
            del content[at : at + data.draw(st.integers(1, 40))]
        elif kind == "set":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "insert":
            content[at:at] = data.draw(st.binary(max_size=20))
        else:
            content[at:at] = content[at : at + 60]
        content = content or bytearray(b"x")
    survives(bytes(content), (recognise(sample),))


@given(st.data())
@SETTINGS
def test_records_with_odd_values_in_any_field(json_sample, data):
    """A valid record in which some values have another type, sign or size."""
    sample = json_sample
    text = sample.read_text()
    records = (
        [json.loads(line) for line in text.splitlines()] if sample.suffix == ".jsonl" else [json.loads(text)]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        _change(data, data.draw(st.sampled_from(records)))
    content = "\n".join(json.dumps(record) for record in records)
    survives(content.encode(), (recognise(sample),))


@given(st.data())
@SETTINGS
def test_logs_with_odd_numbers(log_sample, data):
    """A valid log line in which some numbers are anything else."""
    words = log_sample.read_text().split(" ")
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(words) - 1))
        words[at] = data.draw(
            st.sampled_from(["nan,", "-1,", "1e99,", "9" * 40, "", "0,", "\x00", "٣,", "inf", "1.2.3"])
        )
    survives(" ".join(words).encode(), (recognise(log_sample),))


def _change(data, place) -> None:
    """Put an odd value somewhere inside ``place``."""
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            place = inner
            continue
        place[key] = data.draw(ODD)
        return
