"""``adaptive-depth policies``: the registered rules and their parameters."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

NAME = "policies"
HELP = "list the depth policies and their parameters"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--format", choices=("table", "json"), default="table", help="form of the list")


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    import adaptive_depth.policies  # noqa: F401 - registers the rules
    from adaptive_depth.policies.registry import entries

    rows = [
        {"name": e.name, "summary": e.summary, "parameters": _parameters(e.config_type)} for e in entries()
    ]
    if args.format == "json":
        print(json.dumps({"schema": "adaptive-depth-policies/1", "policies": rows}, indent=2, default=str))
    else:
        print("\n\n".join(_as_text(row) for row in rows))
    return 0


def _parameters(config_type: type[Any]) -> list[dict[str, Any]]:
    return [{"name": f.name, "type": str(f.type)} | _default(f) for f in dataclasses.fields(config_type)]


def _default(field: dataclasses.Field[Any]) -> dict[str, Any]:
    if field.default is not dataclasses.MISSING:
        return {"required": False, "default": field.default}
    if field.default_factory is not dataclasses.MISSING:
        return {"required": False, "default": field.default_factory()}
    return {"required": True, "default": None}


def _as_text(row: dict[str, Any]) -> str:
    lines = [f"{row['name']}: {row['summary']}"]
    for p in row["parameters"]:
        value = "required" if p["required"] else f"default {p['default']}"
        lines.append(f"    {p['name']} ({p['type']}): {value}")
    return "\n".join(lines)
