"""What a launch with adaptive depth has settled on, as it travels to the scheduler process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from adaptive_depth.controller.online_cost import GENERIC_PRIOR
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.policies.cost_model import LinearCost
from adaptive_depth.policies.spec import PolicySpec
from adaptive_depth.runtime_hooks.flags import CARRIER, Options

#: The rule taken where the operator names none.
DEFAULT_POLICY = "marginal"


@dataclass(frozen=True, slots=True)
class Launch:
    """Settled once, in the main process; pickled to every scheduler, which reads no file again.

    ``policy`` is the whole policy file as JSON text, every candidate filled in. ``source`` is what the
    operator named. ``notes`` are things the operator should know, said in the server's log.
    """

    policy: str
    source: str
    log: str | None
    notes: tuple[str, ...] = ()

    def file(self) -> PolicyFile:
        """The policy."""
        return PolicyFile.model_validate_json(self.policy)

    @property
    def options(self) -> Options:
        """What was asked for."""
        return Options(self.source, self.log)


def launch_of(server_args: object) -> Launch | None:
    """The launch that the main process settled, as found in a scheduler; ``None`` without adaptive depth."""
    found = getattr(server_args, CARRIER, None)
    return found if isinstance(found, Launch) else None


def as_file(policy: PolicySpec | PolicyFile) -> PolicyFile:
    """A rule named on the command line as the policy file that says the same."""
    if isinstance(policy, PolicyFile):
        return policy
    return PolicyFile(policy=policy.name, parameters=dict(policy.parameters))


def with_cost(policy: PolicyFile, environment: Mapping[str, str] = os.environ) -> PolicyFile:
    """``policy`` with the coefficients of its cost written out, so that it says everything by itself.

    Without a cost it gets that of a middling server; the first rounds correct its scale. A table stays a
    name.
    """
    cost = policy.cost_model() or replace(GENERIC_PRIOR, extend_windowed=policy.extend_window)
    if not isinstance(cost, LinearCost):
        return policy
    if environment.get("SGLANG_SPEC_SKIP_ZERO_STEP_DRAFT_EXTEND", "").lower() in ("1", "true", "yes"):
        cost = replace(cost, extend_at_zero=False)
    return PolicyFile.model_validate(policy.model_dump(exclude_unset=True) | {"cost": asdict(cost)})
