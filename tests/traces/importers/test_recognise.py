"""A format is known by its content alone, and what is not known is named with a reason."""

import pytest

from adaptive_depth.traces.importers import IMPORTERS, Head, recognise


def test_every_importer_has_a_sample_and_knows_it(sample, tmp_path):
    """Each sample is recognised by the importer it is named after, whatever the file is called."""
    renamed = tmp_path / "data"
    renamed.write_bytes(sample.read_bytes())
    found = recognise(renamed)
    assert found is not None and found.name == sample.stem


def test_samples_cover_all_formats(sample_names):
    """A new importer needs a sample, or the tests over samples would pass it by."""
    assert sorted(sample_names) == sorted(importer.name for importer in IMPORTERS)


def test_samples_import_without_problems(sample):
    """A clean file yields requests and no problem."""
    imported = recognise(sample).read(sample)
    assert imported.problems == [] and sum(block.requests for _, block in imported.traces) > 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"model: x\nk: [1, 2]\n", "no known trace format"),
        (b"batch,depth\n1,3\n", "no known trace format"),
        (b'{"a": 1}\n', "no known trace format"),
        (b'{"a": ', "not JSON"),
        (b"PAR1\x00\x01", "Parquet"),
        (b"\x7fELF\x02\x01\x01\x00", "binary"),
        (b"\x00" * 50, "binary"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_unknown_files_say_why(tmp_path, content, reason):
    """No importer takes them, and the reason names what they are."""
    path = tmp_path / "x"
    path.write_bytes(content)
    assert recognise(path) is None
    assert reason in Head(path).why_unknown()


@pytest.mark.parametrize("before", [(1 << 20) - 10, 3 << 20])
def test_a_log_is_known_by_a_line_far_into_it(log_sample, tmp_path, before):
    """Start-up may print megabytes first, and a mark may lie across two reads."""
    path = tmp_path / "x"
    path.write_bytes(b"." * (before - 1) + b"\n" + log_sample.read_bytes())
    found = recognise(path)
    assert found is not None and found.name == log_sample.stem


def test_a_first_line_of_nul_bytes_does_not_hide_the_format(source, lines_sample):
    """A torn write at the top costs that line, not the file."""
    importer = recognise(lines_sample)
    imported = source.read(b"\x00" * 300 + b"\n" + lines_sample.read_bytes(), importer.name)
    whole = importer.read(lines_sample)
    assert sum(b.requests for _, b in imported.traces) == sum(b.requests for _, b in whole.traces)
