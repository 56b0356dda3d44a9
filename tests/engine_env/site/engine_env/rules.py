"""Depth rules for the tests alone: ``test-random`` plans anything legal, ``test-faulty`` fails in every way.

``register_all()`` makes them known to this process's registry, under ``CPU_ENGINE_RULES=1`` in every server process.
"""

from dataclasses import dataclass

import numpy as np
from adaptive_depth.policies.registry import register
from adaptive_depth.policies.types import Plan, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomConfig:
    """``seed`` of the plans; a plan depends on it and on the number of plans before, not on the batch."""

    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyConfig:
    """``fault``: raise, nan (survival), depth (no tier), window (no candidate), rows (too few); every ``every``-th plan."""

    fault: str = "raise"
    every: int = 3
    seed: int = 0


class Stateless:
    """What the protocol asks of a rule that keeps nothing."""

    uses_survival = learns = False

    def __init__(self, config, candidates):
        self.config, self.candidates = config, candidates
        self.random = np.random.default_rng(config.seed)
        self.plans = 0

    def observe(self, result):
        """Nothing to learn."""

    def forget(self, slots):
        """Nothing to forget."""

    def state_dict(self):
        """Nothing to keep."""
        return {"version": 1}

    def load_state(self, state):
        """Nothing to restore."""

    def random_plan(self, batch):
        """A random depth for each group and a random window for each row."""
        groups, rows = len(batch.groups), len(batch.slot)
        return Plan(
            self.random.choice(self.candidates.depth_array, groups),
            self.random.choice(self.candidates.window_array, rows),
            np.full(groups, Reason.PROBE, np.uint8),
        )


class RandomRule(Stateless):
    """Any tier, any window, anew for every round and request."""

    def plan(self, batch, estimates):
        """Random."""
        return self.random_plan(batch)


class FaultyRule(Stateless):
    """Random, but every few plans something is wrong with it."""

    def plan(self, batch, estimates):
        """Random or wrong."""
        self.plans += 1
        plan = self.random_plan(batch)
        if self.plans % self.config.every == 0:
            self.spoil(plan)
        return plan

    def spoil(self, plan):
        """Raise, or make the plan impossible."""
        fault = self.config.fault
        if fault == "raise":
            raise RuntimeError("the rule failed on purpose")
        if fault == "nan":
            plan.depth = np.full(len(plan.depth), np.nan, np.float32)
        elif fault == "depth":
            plan.depth = plan.depth + np.int8(100)
        elif fault == "window":
            plan.window = plan.window - np.int32(5)
        else:
            plan.window = plan.window[:-1]

    def observe(self, result):
        """Fail now and then as well."""
        if self.config.fault == "observe" and result.plan_id % self.config.every == 0:
            raise RuntimeError("the rule failed on purpose")


def register_all():
    """Make the rules known, once."""
    import adaptive_depth.policies  # noqa: F401 - registers the others first

    register("test-random", RandomConfig)(RandomRule)
    register("test-faulty", FaultyConfig)(FaultyRule)
