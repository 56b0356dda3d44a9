"""Whatever a line holds, it costs that line: the good records of every line format survive."""

import json

import pytest

from adaptive_depth.traces.importers import lines, recognise

#: Bytes of a bad line and a word of the reason.
BAD_LINES = {
    "nul": (b"\x00" * 90, "NUL"),
    "not-utf8": (b'{"id": "\xff\xfe"}', "UTF-8"),
    "not-json": (b"{'single': 'quotes'}", "not JSON"),
    "torn": (b'{"id": "x", "choices": [{"ind', "not JSON"),
    "deep": (b"[" * 200_000, "nested too deeply"),
    "deep-object": (b'{"a":' * 200_000, "nested too deeply"),
    "huge-number": (b'{"id": ' + b"9" * 5000 + b"}", "too long"),
    "twice": (b'{"id": 1, "id": 2}', "twice"),
    "trailing": (b"{} {}", "follows"),
    "number": (b"17", "expected an object"),
    "text": (b'"x"', "expected an object"),
    "null": (b"null", "expected an object"),
    "empty-object": (b"{}", ""),
}

#: What begins a line of each log format.
MARKS = {
    "sglang-log": "Decode batch, #queue-req: 1, ",
    "vllm-log": "SpecDecoding metrics: ",
    "llama-cpp-log": "draft acceptance = ",
}


@pytest.fixture
def lines_of(lines_sample):
    """The lines of a JSON Lines sample."""
    return lines_sample.read_bytes().splitlines(keepends=True)


def requests(imported):
    return sum(block.requests for _, block in imported.traces)


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_costs_only_itself(source, lines_sample, lines_of, bad):
    """Named with its line and a reason that fits; every good record is still there."""
    importer, (raw, reason) = recognise(lines_sample), BAD_LINES[bad]
    imported = source.read(lines_of[0] + raw + b"\n" + b"".join(lines_of[1:]), importer.name)
    assert requests(imported) == requests(importer.read(lines_sample))
    (problem,) = imported.problems
    if importer.name == "specdecode-bench" and "expected" in reason:
        reason = "holds none of"
    assert problem.line == 2 and problem.path == source.path and reason in problem.reason
    assert len(str(problem)) < 400 and "\n" not in str(problem)


def test_line_ends_byte_order_mark_and_blank_lines(source, lines_sample, lines_of):
    """CRLF, a BOM, blank lines and a missing last line end change nothing."""
    importer = recognise(lines_sample)
    content = b"\xef\xbb\xbf" + b"\r\n\r\n  \r\n".join(line.rstrip(b"\n") for line in lines_of)
    imported = source.read(content, importer.name)
    assert imported.problems == [] and requests(imported) == requests(importer.read(lines_sample))


def test_a_torn_last_line_is_called_torn(source, lines_sample, lines_of):
    """A file that ends inside a record says so."""
    content = b"".join(lines_of) + lines_of[0][:-30]
    imported = source.read(content, recognise(lines_sample).name)
    (problem,) = imported.problems
    assert problem.line == len(lines_of) + 1 and "torn" in problem.reason


def test_a_line_above_the_limit_is_skipped_without_being_held(source, lines_sample, lines_of, monkeypatch):
    """A giant line is named with its size; reading goes on behind it."""
    monkeypatch.setattr(lines, "LINE_LIMIT", 4 << 10)
    importer = recognise(lines_sample)
    content = lines_of[0] + b'{"x": "' + b"y" * (3 << 20) + b'"}\n' + b"".join(lines_of[1:])
    imported = source.read(content, importer.name)
    assert requests(imported) == requests(importer.read(lines_sample))
    assert [(p.line, p.reason) for p in imported.problems] == [
        (2, "line of 3 MiB is above the limit of 0 MiB")
    ]


def test_a_hundred_megabyte_line(source):
    """The real limit holds a line of 100 MB off as well."""
    good = b'{"spec_correct_drafts_histogram": [1]}\n'
    imported = source.read(good + b"x" * 100_000_000 + b"\n" + good, "sglang-meta")
    assert requests(imported) == 2 and "95 MiB" in imported.problems[0].reason


@pytest.mark.parametrize("filler", ["a", " ", "1", ",", "a ", "a: ", "(", "[", "\x1b[1"])
def test_a_long_hostile_log_line_takes_no_longer_than_its_length(source, log_sample, filler):
    """A megabyte of anything behind a line's mark is read in passing, not searched in circles."""
    importer = recognise(log_sample)
    line = MARKS[importer.name] + filler * (1_000_000 // len(filler)) + "\n"
    imported = source.read(log_sample.read_text() + line, importer.name)
    assert requests(imported) == requests(importer.read(log_sample)) and len(imported.problems) == 1


def test_a_torn_list_keeps_the_items_before_the_tear(source, lines_sample, lines_of):
    """Records of one JSON list are read one by one, each with its own line."""
    importer = recognise(lines_sample)
    whole = "[\n" + ",\n".join(json.dumps(json.loads(line)) for line in lines_of)
    imported = source.read(whole + ',\n{"id": ', importer.name)
    assert requests(imported) == requests(importer.read(lines_sample))
    assert [p.line for p in imported.problems] == [len(lines_of) + 2]


def test_a_document_above_the_limit_is_refused_by_name(tmp_path, monkeypatch):
    """One JSON value that cannot be streamed is bounded, and the reason names the way out."""
    from adaptive_depth.traces.importers import Head, json_source

    monkeypatch.setattr(json_source, "DOCUMENT_LIMIT", 10)
    path = tmp_path / "x.json"
    path.write_text('{\n "config": {}, "per_sample": []\n}\n')
    assert recognise(path) is None and "one record a line" in Head(path).why_unknown()


def test_names_are_made_printable(source):
    """Control characters and lone surrogates in ids cannot reach a terminal or break a file."""
    record = '{"id": "a\\u001b[31m\\ud800b", "spec_correct_drafts_histogram": [1]}\n'
    assert source.block(record, "sglang-meta").request_id == ("a?[31m?b",)


def test_an_unreadable_file_is_a_problem(sample, tmp_path):
    """A file that vanished between listing and reading is named, not raised."""
    imported = recognise(sample).read(tmp_path / "gone")
    assert imported.traces == [] and "cannot be read: No such file" in str(imported.problems[0])
