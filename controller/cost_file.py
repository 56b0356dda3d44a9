"""Cost files: a fitted or tabled cost as JSON with its provenance and residuals, and the one way to name
a cost.

A cost is named by a preset, a ``.json`` cost file, or a ``.csv`` table (``FILE.csv[:NAME][@ACCEPTANCE]``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from adaptive_depth.controller.accept_curve import accept_curve
from adaptive_depth.controller.cost_csv import read_table
from adaptive_depth.controller.presets import PRESETS
from adaptive_depth.controller.strict_model import Strict, first_fault
from adaptive_depth.controller.table_cost import TableCost
from adaptive_depth.policies.cost_model import CostModel, LinearCost
from adaptive_depth.traces.errors import ConfigError, CostError, did_you_mean

#: Written into every cost file; a newer one is refused.
COST_VERSION = 1

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class LinearPart(Strict):
    """Coefficients of a :class:`LinearCost`, in seconds."""

    host: Seconds = 0.0
    v0: Seconds = 0.0
    v1: Seconds = 0.0
    v2: Seconds = 0.0
    v3: Seconds = 0.0
    spec: Seconds = 0.0
    x1: Seconds = 0.0
    x2: Seconds = 0.0
    x3: Seconds = 0.0
    f0: Seconds = 0.0
    f1: Seconds = 0.0
    f2: Seconds = 0.0
    extend_windowed: bool = False
    extend_at_zero: bool = True

    @model_validator(mode="after")
    def _prices_something(self) -> Self:
        if self.host + self.v0 + self.v1 <= 0:
            raise ValueError("host, v0 or v1 must be above 0: a round at depth 0 takes time")
        return self


class TablePart(Strict):
    """A depth by batch table; ``null`` where not measured."""

    depths: list[int]
    batches: list[int]
    seconds: list[list[Seconds | None]]


class Residual(Strict):
    """How far the fit misses the measured rounds of one depth."""

    depth: int
    rounds: int
    measured_ms: float
    fitted_ms: float
    residual_percent: float


class CostFile(Strict):
    """What a cost file holds; exactly one of ``linear`` and ``table``.

    >>> file = CostFile(name="mine", linear=LinearPart(v0=0.01))
    >>> CostFile.model_validate_json(file.model_dump_json()).cost().v0
    0.01
    """

    schema_name: Literal["adaptive-depth-cost"] = "adaptive-depth-cost"
    version: int = COST_VERSION
    name: str
    provenance: str = ""
    linear: LinearPart | None = None
    table: TablePart | None = None
    residuals: list[Residual] = Field(default_factory=list)
    r_squared: float | None = None
    #: Coefficients the measurements could not tell from others; they are 0 in ``linear``.
    not_identified: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_cost(self) -> Self:
        if (self.linear is None) == (self.table is None):
            raise ValueError("give exactly one of 'linear' and 'table'")
        return self

    def cost(self) -> CostModel:
        """The cost model; :class:`CostError` for a table that cannot price anything."""
        if self.linear is not None:
            return LinearCost(**self.linear.model_dump())
        assert self.table is not None
        rows = tuple(tuple(float("nan") if v is None else v for v in row) for row in self.table.seconds)
        return TableCost(tuple(self.table.depths), tuple(self.table.batches), rows)


def cost_file(
    name: str,
    cost: LinearCost,
    provenance: str,
    residuals: Sequence[Residual] = (),
    r_squared: float | None = None,
    not_identified: Sequence[str] = (),
) -> CostFile:
    """The file of a fitted cost."""
    return CostFile(
        name=name,
        provenance=provenance,
        linear=LinearPart(**{key: getattr(cost, key) for key in LinearPart.model_fields}),
        residuals=list(residuals),
        r_squared=r_squared,
        not_identified=list(not_identified),
    )


def read_cost_file(path: str | Path) -> CostFile:
    """Read and check a JSON cost file; :class:`CostError` names the file and what is wrong with it."""
    text = _text(path)
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        raise CostError(f"{path}:{line}: is not JSON: {getattr(error, 'msg', error)}") from None
    if isinstance(raw, dict) and isinstance(raw.get("version"), int) and raw["version"] > COST_VERSION:
        raise CostError(
            f"{path}: cost file version {raw['version']}; this release reads up to {COST_VERSION}"
        )
    try:
        file = CostFile.model_validate(raw)
        file.cost()
    except ValidationError as error:
        raise CostError(f"{path}: {first_fault(error, CostFile)}") from None
    except CostError as error:
        raise CostError(f"{path}: {error}") from None
    return file


def load_cost(spec: str) -> CostModel:
    """The cost called ``spec``: a preset, ``FILE.json``, or ``FILE.csv[:NAME][@ACCEPTANCE]``.

    NAME picks a model or drafter in the table. ACCEPTANCE is for tables of throughput alone: one number,
    the chance that each next draft is accepted, or ``1=1.7,2=2.2``, the accept length by depth. Raises
    :class:`ConfigError` for a name that is neither, :class:`CostError` for a file that cannot be used.
    """
    if spec in PRESETS:
        return PRESETS[spec]
    if table := re.fullmatch(
        r"(?P<path>.+\.csv)(:(?P<name>[^@]*))?(@(?P<acceptance>.*))?", spec, re.IGNORECASE
    ):
        lengths = accept_curve(table["acceptance"]) if table["acceptance"] is not None else None
        return read_table(_text(table["path"]).splitlines(), table["path"], table["name"] or None, lengths)
    if spec.lower().endswith(".json"):
        return read_cost_file(spec).cost()
    raise ConfigError(f"cost {spec!r} is no preset, .json or .csv file{did_you_mean(spec, PRESETS)}")


def _text(path: str | Path) -> str:
    """The file's text; anything unreadable is one :class:`CostError`."""
    try:
        return Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise CostError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise CostError(f"{path}: is not UTF-8 text") from None
