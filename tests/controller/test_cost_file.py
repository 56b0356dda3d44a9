"""Cost files and the one way to name a cost."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive_depth.controller.cost_file import CostFile, Residual, cost_file, load_cost, read_cost_file
from adaptive_depth.controller.presets import preset
from adaptive_depth.controller.table_cost import TableCost
from adaptive_depth.policies.cost_model import Load
from adaptive_depth.traces.errors import AdaptiveDepthError, ConfigError, CostError


def write(path, raw):
    path.write_text(raw if isinstance(raw, str) else json.dumps(raw), "utf-8")
    return str(path)


def linear(**changes):
    return {"name": "mine", "linear": {"v0": 0.01}, **changes}


def test_preset_by_name():
    """A preset's name is a cost."""
    assert load_cost("nem-b200") is preset("nem-b200")


def test_fitted_cost_survives_its_file(tmp_path):
    """A linear cost, its residuals and what was not identified come back from JSON unchanged."""
    residual = Residual(depth=3, rounds=10, measured_ms=12.0, fitted_ms=12.1, residual_percent=0.83)
    file = cost_file("mine", preset("q35-b200"), "my trace", [residual], 0.99, ["f1"])
    path = write(tmp_path / "c.json", file.model_dump_json())
    assert load_cost(path) == preset("q35-b200")
    assert read_cost_file(path) == file


def test_table_cost_in_a_file(tmp_path):
    """A table with an unmeasured cell (null) is read as a table cost."""
    table = {"depths": [0, 2], "batches": [1, 4], "seconds": [[0.01, 0.02], [0.02, None]]}
    cost = load_cost(write(tmp_path / "c.json", {"name": "t", "table": table}))
    assert isinstance(cost, TableCost)
    one = np.ones(1)
    assert cost.seconds(Load(one, one, one, one), np.array([2])).tolist() == [[0.02]]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (linear(vresion=1), "unknown key 'vresion' (did you mean 'version'?)"),
        (linear(linear={"v0": 0.01, "v9": 1}), "unknown key 'linear.v9'"),
        (linear(linear={"v0": -1}), "linear.v0: Input should be greater than or equal to 0"),
        (linear(linear={"v0": "1"}), "linear.v0: Input should be a valid number"),
        (linear(linear={}), "linear: host, v0 or v1 must be above 0"),
        ('{"name": "x", "linear": {"v0": NaN}}', "linear.v0: Input should be a finite number"),
        ({"name": "x"}, "give exactly one of 'linear' and 'table'"),
        (linear(version=9), "cost file version 9; this release reads up to 1"),
        (
            {"name": "x", "table": {"depths": [0], "batches": [1], "seconds": [[None]]}},
            "depth 0 has no seconds",
        ),
        ("[]", "the file: Input should be"),
        ("{", "is not JSON"),
        ("[" * 200_000, "is not JSON"),
    ],
)
def test_bad_file_is_one_line(tmp_path, raw, message):
    """A bad cost file is one line with the path, the place and the nearest known name."""
    path = write(tmp_path / "c.json", raw)
    with pytest.raises(CostError) as error:
        load_cost(path)
    assert str(error.value).startswith(path) and message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["gone.json", "gone.csv", "gone.csv:model@0.5"])
def test_missing_file_is_named(tmp_path, name):
    """A file that is not there is named."""
    with pytest.raises(CostError, match=r"gone\.\w+: cannot be read: No such file"):
        load_cost(str(tmp_path / name))


def test_binary_file_is_named(tmp_path):
    """A file that is no text is named as such."""
    path = tmp_path / "c.csv"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(CostError, match=r"c\.csv: is not UTF-8 text"):
        load_cost(str(path))


def test_name_that_is_nothing():
    """A name that is neither a preset nor a file names the nearest preset."""
    with pytest.raises(ConfigError, match=r"cost 'q122b200' is no preset.*did you mean 'q122-b200'"):
        load_cost("q122b200")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*CostFile.model_fields, "v0", "depths", "batches", "seconds"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_json_gives_a_traceback(tmp_path_factory, raw):
    """Whatever the JSON holds, it is a cost or a cost error."""
    path = write(tmp_path_factory.getbasetemp() / "fuzz.json", raw)
    try:
        load_cost(path)
    except AdaptiveDepthError as error:
        assert path in str(error)
