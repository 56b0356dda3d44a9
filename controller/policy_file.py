"""``policy.json``: a rule with its parameters, estimator, candidates and cost, tuned or written by hand."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, ValidationError, model_validator

from adaptive_depth.controller.acceptance import AcceptanceConfig
from adaptive_depth.controller.cost_file import LinearPart, load_cost
from adaptive_depth.controller.default_candidates import default_candidates
from adaptive_depth.controller.strict_model import Strict, first_fault
from adaptive_depth.policies.cost_model import CostModel, LinearCost
from adaptive_depth.policies.registry import make_config, make_policy
from adaptive_depth.policies.types import Candidates
from adaptive_depth.traces.errors import AdaptiveDepthError, ConfigError, did_you_mean

#: Written into every policy file; a newer one is refused.
POLICY_VERSION = 1

#: A preset, a cost file or table (see :func:`load_cost`), or the coefficients themselves.
Cost = Annotated[
    Annotated[str, Tag("name")] | Annotated[LinearPart, Tag("coefficients")],
    Discriminator(lambda value: "name" if isinstance(value, str) else "coefficients"),
]


class CandidatesPart(Strict):
    """Depths and windows to choose from; what is left out is as in :class:`Candidates`.

    ``start_depth`` is 3 or else the upper median, ``start_window`` the first window. ``extend_window`` says
    whether draft-extend attends the window too; left out, it does as soon as there is one.
    """

    depths: tuple[int, ...] = Candidates.depths
    windows: tuple[int, ...] = Candidates.windows
    sink: int = Candidates.sink
    start_depth: int | None = None
    start_window: int | None = None
    extend_window: bool | None = None

    def candidates(self) -> Candidates:
        """The candidates; :class:`ConfigError` for impossible ones."""
        usual = Candidates.start_depth
        start = usual if usual in self.depths or not self.depths else self.depths[len(self.depths) // 2]
        try:
            return Candidates(
                self.depths,
                self.windows,
                self.sink,
                start if self.start_depth is None else self.start_depth,
                self.windows[0] if self.windows and self.start_window is None else self.start_window or 0,
            )
        except ValueError as error:
            raise ConfigError(f"candidates: {error}") from None


class PolicyFile(Strict):
    """What a policy file holds; everything but ``policy`` may be left out.

    >>> file = PolicyFile(policy="static", parameters={"depth": 2}, cost="nem-b200")
    >>> file.choices().start_depth
    2
    """

    version: int = POLICY_VERSION
    policy: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    acceptance: dict[str, int | float] = Field(default_factory=dict)
    candidates: CandidatesPart | None = None
    cost: Cost | None = None
    provenance: dict[str, Any] | str = ""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.version > POLICY_VERSION:
            raise ConfigError(
                f"policy file version {self.version}; this release reads up to {POLICY_VERSION}"
            )
        self.acceptance_config()
        try:
            make_policy(self.policy, self.config(), self.choices())
        except ValueError as error:
            raise ConfigError(f"policy {self.policy!r}: {error}") from None
        return self

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.policy

    def config(self) -> Any:  # noqa: ANN401
        """The rule's frozen config."""
        return make_config(self.policy, self.parameters)

    def choices(self) -> Candidates:
        """The candidates given, or the rule's default ones."""
        return default_candidates(self.config()) if self.candidates is None else self.candidates.candidates()

    def acceptance_config(self) -> AcceptanceConfig:
        """Parameters of the acceptance estimator; :class:`ConfigError` for unknown or impossible ones."""
        known = {field.name for field in fields(AcceptanceConfig)}
        for name in self.acceptance:
            if name not in known:
                raise ConfigError(f"unknown key 'acceptance.{name}'{did_you_mean(name, known)}")
        try:
            return AcceptanceConfig(**self.acceptance)
        except ValueError as error:
            raise ConfigError(f"acceptance: {error}") from None

    @property
    def extend_window(self) -> bool:
        """Whether draft-extend attends only sink and window: as given, or where there is a window."""
        given = None if self.candidates is None else self.candidates.extend_window
        return any(self.choices().windows) if given is None else given

    def cost_model(self) -> CostModel | None:
        """The cost given, its draft-extend priced as ``extend_window`` says; ``None`` where none is given."""
        if self.cost is None:
            return None
        cost = load_cost(self.cost) if isinstance(self.cost, str) else LinearCost(**self.cost.model_dump())
        if isinstance(cost, LinearCost):
            return replace(cost, extend_windowed=self.extend_window)
        return cost


def load_policy_file(path: str | Path) -> PolicyFile:
    """Read and check a policy file; :class:`ConfigError` names the file and the first thing wrong with it.

    A cost file that is named by a relative path lies beside the policy file.
    """
    raw = _json(path)
    if isinstance(raw.get("cost"), str) and re.search(r"\.(json|csv)\b", raw["cost"], re.IGNORECASE):
        raw["cost"] = str(Path(path).parent / raw["cost"])
    try:
        file = PolicyFile.model_validate_json(json.dumps(raw))
        file.cost_model()
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_fault(error, PolicyFile)}") from None
    except AdaptiveDepthError as error:
        raise ConfigError(f"{path}: {error}") from None
    return file


def _json(path: str | Path) -> dict[str, Any]:
    try:
        raw = json.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: a policy file is a JSON object, got {type(raw).__name__}")
    version = raw.get("version")
    if isinstance(version, int) and version > POLICY_VERSION:
        raise ConfigError(f"{path}: policy file version {version}; this release reads up to {POLICY_VERSION}")
    return raw


def save_policy_file(path: str | Path, file: PolicyFile) -> None:
    """Write ``file`` so that :func:`load_policy_file` reads the same back; what was left out stays out."""
    written = {"version": file.version, **file.model_dump(mode="json", exclude_unset=True)}
    Path(path).write_text(json.dumps(written, indent=2) + "\n", "utf-8")
