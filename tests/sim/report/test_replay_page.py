"""The page ``sim replay --html`` writes."""

from __future__ import annotations

import dataclasses
import math
import re
from html.parser import HTMLParser

import pytest

from adaptive_depth.sim.replay_report import ReplayReport
from adaptive_depth.sim.report.html import write_html

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks that tags nest, and keeps what the tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def text(report, tmp_path_factory):
    """The page of one set of each origin."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(report, path)
    return path.read_text("utf-8")


@pytest.fixture
def write(tmp_path):
    def written(report):
        path = tmp_path / "report.html"
        write_html(report, path)
        return path.read_text("utf-8")

    return written


def test_page_stands_alone(text):
    """Nothing is fetched and nothing runs: no address, script, import, frame or outside reference."""
    page = Page(text)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    assert {"script", "link", "iframe", "img", "object", "embed"}.isdisjoint(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} and "src" not in names
    targets = [value for name, value in page.attributes if name in ("href", "xlink:href")]
    assert targets and all(target.startswith("#") and target[1:] in page.ids for target in targets)


def test_ids_are_unique(text):
    """Figures share a page, so no two parts of it may share a name."""
    ids = Page(text).ids
    assert len(ids) == len(set(ids)) > 3


def test_every_figure_and_table_is_there(text):
    """A set has its table and five figures; the page has a figure an origin and its definitions."""
    page = Page(text)
    assert page.tags.count("details") == 3 and page.tags.count("table") == 4
    assert page.tags.count("svg") == 3 + 3 * 5
    for heading in (
        "Throughput against depth",
        "Distance to best static and to the clairvoyant",
        "Acceptance by position",
        "Cost of a round of one request",
        "Depth over time",
    ):
        assert page.text.count(heading) == 3, heading
    for words in (
        "marginal on request req-1, 7 rounds",
        "gap closed",
        "conditional acceptance",
        "+4.9..+5.8",
    ):
        assert words in page.text, words


def test_origins_and_evidence_are_labelled(text):
    """Sets of different origin share no section, figure or table body; each set carries its origin."""
    page = Page(text)
    headings = [page.text.index(f"{word} sets") for word in ("Recorded", "Imported", "Synthetic")]
    assert headings == sorted(headings)
    assert "nem-1m-ruler synthetic marginal +5.3% vs best static" in page.text
    assert "generated to match published tables, NOT measured" in page.text
    assert "unsupported" in page.text and "static:9@4032: deeper than recorded (7)" in page.text


def test_names_from_files_are_only_text(make_set, make_pictures, write):
    """Markup, quotes, formulas and control characters in any name come out as they were written."""
    bad = "<script>alert('x')</script>&amp;\"$x^2$\x00\x1b"
    shown = bad.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
    rows = [
        dataclasses.replace(row, policy=bad + row.policy, note=bad) for row in make_set(bad, bad, cost=bad)
    ]
    picture = make_pictures(bad, bad, request=bad)
    text = write(ReplayReport(rows, [dataclasses.replace(picture, evidence=bad)]))
    page = Page(text)
    assert "script" not in page.tags and "<script" not in text
    assert page.text.count(shown) > 10
    assert f"marginal on request {shown}, 7 rounds" in page.text
    assert "\x00" not in text and "\x1b" not in text


def test_odd_letters_survive(make_set, write):
    """Letters the drawing font lacks are the browser's business; half a surrogate is no error."""
    text = write(ReplayReport(make_set("测试集 🐟 \udcff")))
    assert "测试集 🐟" in text


def test_same_report_same_bytes(make_set, make_pictures, write):
    """No date, no random name."""
    report = ReplayReport(make_set(), [make_pictures()])
    assert write(report) == write(report)


def test_colours_follow_the_theme(text):
    """Text, axes and grids take the page's colours, which change in the dark."""
    assert "prefers-color-scheme: dark" in text
    assert "#10000" not in text and "var(--faint)" in text
    assert not re.search(r"(fill|stroke): #(000000|ffffff)", text)


def test_long_requests_stay_small(make_set, make_pictures, write):
    """A set with three paths of 1,050 rounds takes less than a fifteenth of 5 MB, and says what it cut."""
    picture = make_pictures()
    (path,) = picture.paths
    long = {name: getattr(path, name) * 150 for name in ("depth", "window", "accepted")}
    path = dataclasses.replace(path, position=list(range(0, 7 * 150 * 3, 3)), **long)
    text = write(ReplayReport(make_set(), [dataclasses.replace(picture, paths=[path] * 3)]))
    assert len(text.encode()) < 5e6 / 15
    assert text.count("first 240 of 1050 rounds") == 3


def test_the_best_policy_is_drawn_first(make_set, make_pictures, write):
    """The fastest policy's requests are in sight; those of the others are folded away."""
    picture = make_pictures()
    others = [dataclasses.replace(path, policy="sglang-ema") for path in picture.paths]
    text = write(ReplayReport(make_set(), [dataclasses.replace(picture, paths=others + picture.paths)]))
    best, folded = text.index("marginal on request"), text.index("sglang-ema on request")
    assert best < text.index("<summary>Other policies</summary>") < folded


def test_many_sets_start_folded(make_row, write):
    """Up to three sets are unfolded; of more, none."""
    rows = [make_row("marginal", 101.0, trace_set=f"set-{index}") for index in range(4)]
    assert write(ReplayReport(rows[:3])).count('<details class="set" open>') == 3
    text = write(ReplayReport(rows))
    assert text.count('<details class="set">') == 4 and '<details class="set" open>' not in text


def test_missing_figures_leave_no_hole(make_row, make_pictures, write):
    """Unsupported rows, values that are no numbers and empty pictures are drawn as far as they go."""
    odd = {"vs_best_static": math.nan, "mean_depth": math.nan, "ci95": (math.nan, math.inf)}
    rows = [
        make_row("marginal", None),
        make_row("bandit", 90.0, **odd),
        make_row("static:3", 1.0, role="ladder"),
    ]
    empty = {"ladder": {}, "marginal": {}, "conditional": {}, "paths": [], "round_seconds": {}}
    page = Page(write(ReplayReport(rows, [make_pictures(**empty)])))
    assert "Depth over time" not in page.text and "nan" not in page.text.split("What the words mean")[0]
    assert page.tags.count("svg") == 3


def test_pictures_follow_their_cost(make_set, make_pictures, write):
    """Of two costs on one set, each section draws its own pictures; a section without pictures has none."""
    rows = make_set(cost="a") + make_set(cost="b")
    page = Page(write(ReplayReport(rows, [make_pictures(cost="b")])))
    assert page.text.count("Throughput against depth") == 1
    assert page.text.index("cost b,") < page.text.index("Throughput against depth")


def test_nothing_replayed(write):
    """An empty report is a page that says so."""
    assert "Nothing was replayed." in Page(write(ReplayReport([]))).text
