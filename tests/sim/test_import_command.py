"""``sim import``: folders in, trace files out, every problem named, and an exit code that can be trusted."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from adaptive_depth.sim import import_folder
from adaptive_depth.sim.cli import main
from adaptive_depth.traces.store import TraceReader, find_traces, read_trace

SAMPLES = Path(__file__).parents[1] / "vectors" / "importers"
GOOD = '{"id": "a", "spec_correct_drafts_histogram": [1, 2]}\n'


@pytest.fixture
def run(tmp_path, capsys):
    """Run ``sim import SRC... --out <tmp>/out``; ``(exit code, stdout, stderr)``."""

    def go(*sources, out=tmp_path / "out", extra=()):
        code = main(["import", *map(str, sources), "--out", str(out), *extra])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return go


@pytest.fixture
def folder(tmp_path):
    """A folder to import from."""
    made = tmp_path / "in"
    made.mkdir()
    return made


def names(tmp_path):
    return sorted(path.name.removesuffix(".trace.parquet") for path in find_traces([tmp_path / "out"]))


def test_a_folder_of_every_format(run, tmp_path):
    """Each set becomes one file under its own name, readable, with nothing lost on the way."""
    code, out, err = run(SAMPLES)
    assert (code, err) == (0, "")
    assert "specdecode-bench-eagle" in out and "14 sets written, 0 problems, 0 files skipped" in out
    for path in find_traces([tmp_path / "out"]):
        reader = TraceReader(path)
        assert sum(block.requests for block in reader.blocks()) == reader.requests > 0 and not reader.problems
        assert reader.header.trace_set == path.name.removesuffix(".trace.parquet")
        ours = path.name.startswith("decision")
        assert reader.header.origin == ("recorded" if ours else "imported")
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if p.name.startswith(".")) == []


def test_the_header_is_that_of_the_whole_source(run, tmp_path, folder):
    """k_max is known only at the end; the file states it all the same."""
    rows = [json.dumps({"spec_correct_drafts_histogram": [1]}) for _ in range(600)]
    (folder / "x").write_text("\n".join([*rows, '{"spec_correct_drafts_histogram": [0, 0, 0, 0, 1]}']))
    assert run(folder)[0] == 0
    header, block = read_trace(tmp_path / "out" / "x.trace.parquet")
    assert header.k_max == 4 and block.requests == 601


def test_json_summary(run, tmp_path, folder):
    """The machine-readable form: sets with their counts, problems with file, line and reason."""
    (folder / "a.jsonl").write_text(GOOD + "{torn\n")
    (folder / "notes.txt").write_text("hello")
    code, out, err = run(folder, extra=["--format", "json"])
    report = json.loads(out)
    (one,) = report["sets"]
    assert code == 0 and report["schema"] == "adaptive-depth-import/1"
    assert (one["trace_set"], one["kind"], one["importer"]) == ("a", "rounds", "sglang-meta")
    assert (one["requests"], one["items"], one["problems"]) == (1, 3, 1)
    assert one["accept_length"] == pytest.approx(5 / 3) and Path(one["path"]).is_file()
    torn, skipped = report["problems"]
    assert (torn["path"], torn["line"], torn["skipped"]) == (str(folder / "a.jsonl"), 2, False)
    assert skipped["skipped"] and (report["problem_count"], report["skipped_count"]) == (1, 1)
    assert "a.jsonl:2: is not JSON" in err and "skipped: " in err


def test_accept_length_of_a_dense_set_is_that_of_its_full_chain(run, folder):
    """Positions are not rounds: a chain of 3, 1 and 1 tokens plays 4 positions in 2 rounds."""
    lists = {"acc_eagle": {"acc_len": [3, 1, 1, 1]}}
    (folder / "a").write_text(json.dumps(lists))
    _, out, _ = run(folder, extra=["--format", "json"])
    (one,) = json.loads(out)["sets"]
    assert (one["items"], one["accept_length"]) == (4, 2.0)


def test_a_drafter_that_does_nothing_is_pointed_out(run, folder):
    """Accept length 1.0 is said in words: a missing draft head looks like this, hard text does not."""
    (folder / "a").write_text('{"spec_correct_drafts_histogram": [500]}\n')
    _, out, err = run(folder, extra=["--format", "json"])
    assert json.loads(out)["sets"][0]["drafter_idle"] and "the drafter seems not to work at all" in err


def test_same_names_in_two_folders(run, tmp_path, folder):
    """Equal names get their folder's, and a number where that is equal too; each run gives the same names."""
    for place in ("one", "two", "deep/one"):
        (folder / place).mkdir(parents=True)
        (folder / place / "Log.jsonl").write_text(GOOD)
    (folder / "two" / "log.jsonl").write_text(GOOD)
    for _ in range(2):
        assert run(folder)[0] == 0
        assert names(tmp_path) == ["one-Log", "one-Log-2", "two-Log", "two-log-2"]
    found = {TraceReader(path).header.trace_set for path in find_traces([tmp_path / "out"])}
    assert sorted(found) == names(tmp_path)


def test_a_file_given_twice_is_imported_once(run, folder, tmp_path):
    """By name, through its folder and through a link."""
    (folder / "a").write_text(GOOD)
    (tmp_path / "link").symlink_to(folder / "a")
    assert "1 sets written" in run(folder, folder / "a", tmp_path / "link")[1]


@pytest.mark.parametrize("content", ["", "hello\n", "{}\n", GOOD[:-20], '{"spec_verify_ct": 0}\n'])
def test_nothing_usable_is_exit_two_and_says_why(run, folder, content):
    """Every file is named, and the last line says that nothing came of them."""
    (folder / "a").write_text(content)
    code, out, err = run(folder)
    assert (code, out) == (2, "") and str(folder / "a") in err
    assert err.splitlines()[-1] == f"sim import: nothing usable in {folder}"


def test_a_missing_source_beside_a_good_one(run, folder, tmp_path):
    """The good one is imported; the missing one is named."""
    (folder / "a").write_text(GOOD)
    code, _, err = run(tmp_path / "none", folder)
    assert code == 0 and f"{tmp_path / 'none'}: no such file or folder" in err
    assert run(tmp_path / "none")[0] == 2


def test_odd_things_in_a_folder(run, folder):
    """A pipe is not opened, a dangling link and odd names are named, hidden folders are passed over."""
    (folder / "a").write_text(GOOD)
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("nowhere")
    (folder / os.fsdecode(b"\xff\x1b[31m")).write_text(GOOD)
    (folder / ".git").mkdir()
    (folder / ".git" / "b").write_text(GOOD)
    code, out, err = run(folder)
    assert code == 0 and "2 sets written, 2 problems" in out
    assert "pipe: is not a regular file" in err and "dangling: is not a regular file" in err


def test_a_path_too_long_for_the_system(run, folder):
    """What the system refuses to look at is named in one line."""
    code, _, err = run("x" * 5000)
    assert code == 2 and "cannot be read: File name too long" in err


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_an_output_that_is_no_folder(run, folder, tmp_path, where):
    """One line, exit 2, no traceback."""
    (folder / "a").write_text(GOOD)
    (tmp_path / "file").write_text("x")
    code, out, err = run(folder, out=tmp_path / where)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "cannot be written" in err


def test_a_folder_in_the_place_of_a_trace(run, folder, tmp_path):
    """A name that is taken by a folder is refused in one line."""
    (folder / "a").write_text(GOOD)
    (tmp_path / "out" / "a.trace.parquet" / "x").mkdir(parents=True)
    code, _, err = run(folder)
    assert code == 2 and "a.trace.parquet: cannot be written" in err


def test_output_within_the_source(run, folder):
    """Traces of an earlier run are passed over by name, and our own scratch files are not looked at."""
    (folder / "a").write_text(GOOD)
    for expected in (0, 1):
        code, out, _ = run(folder, out=folder)
        assert code == 0 and f"1 sets written, 0 problems, {expected} files skipped" in out


def test_a_failed_import_leaves_the_old_trace(run, folder, tmp_path):
    """When the new source is no good, what was imported before stays."""
    (folder / "a").write_text(GOOD)
    run(folder)
    before = (tmp_path / "out" / "a.trace.parquet").read_bytes()
    (folder / "a").write_text(GOOD[:-20])
    assert run(folder)[0] == 2
    assert (tmp_path / "out" / "a.trace.parquet").read_bytes() == before


def test_many_problems_are_counted_not_all_printed(run, folder):
    """Fifty of a file are printed, the rest summed up."""
    (folder / "a").write_text(GOOD + "{}\n" * 200)
    _, out, err = run(folder)
    assert err.count("\n") == 51 and "and 150 more problems" in err and "200 problems" in out


def test_the_progress_bar_counts_every_byte_and_only_on_a_terminal(run, folder, monkeypatch):
    """Off a terminal nothing is drawn; on one, the bytes read add up to the sources' size."""
    shutil.copytree(SAMPLES, folder / "samples")
    assert "importing" not in run(folder)[2]
    read = []
    original = import_folder.import_all

    def watched(sources, out, notice, progress):
        return original(sources, out, notice, lambda count: (read.append(count), progress(count)))

    monkeypatch.setattr(import_folder, "import_all", watched)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(folder)[0] == 0
    assert sum(read) == sum(path.stat().st_size for path in (folder / "samples").iterdir())


def test_foreign_folders(run, foreign_data, tmp_path):
    """Everything that is a trace is imported; tables, notes and configurations are passed over by name."""
    code, out, err = run(foreign_data, extra=["--format", "json"])
    sets = {one["trace_set"]: one for one in json.loads(out)["sets"]}
    assert code == 0 and len(sets) == 17
    assert sets["specdecode_bench_cnn-eagle"]["accept_length"] == pytest.approx(2.749, abs=5e-4)
    assert sets["specdecode_bench_instructcoder-ngram"]["accept_length"] == pytest.approx(2.761, abs=5e-4)
    skipped = [line for line in err.splitlines() if line.startswith("skipped: ")]
    assert len(skipped) == 10 and any("golden_al" in line for line in skipped)
    assert err.count("holds no usable record") == 2
