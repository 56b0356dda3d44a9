"""The pydantic base of every file a user writes, and its faults in one line each."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from adaptive_depth.traces.errors import did_you_mean


class Strict(BaseModel):
    """Frozen, unknown keys refused, no type converted to another."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def first_fault(error: ValidationError, model: type[BaseModel]) -> str:
    """One fault of what was to be a ``model``; an unknown key, with the nearest known one, goes first."""
    faults = error.errors()
    fault = next((f for f in faults if f["type"] == "extra_forbidden"), faults[0])
    *path, last = fault["loc"] or ("the file",)
    way, keys = _part(model, path)
    where = ".".join(str(part) for part in (*way, last))
    if fault["type"] == "extra_forbidden":
        return f"unknown key {where!r}{did_you_mean(str(last), keys)}"
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"


def _part(model: type[BaseModel], path: list[int | str]) -> tuple[list[int | str], set[str]]:
    """The fields and indices on the way (not the tags of a union), and the keys known at its end."""
    models: list[type[BaseModel]] = [model]
    where: list[int | str] = []
    for part in path:
        fields = [m.model_fields[part].annotation for m in models if part in m.model_fields]
        if fields or isinstance(part, int):
            where.append(part)
        models = [found for annotation in fields for found in _models(annotation)] or models
    return where, {key for m in models for key in m.model_fields}


def _models(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401
    """The pydantic models an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]
