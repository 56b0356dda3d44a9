"""Depth rules for the tests alone: ``test-random`` plans anything legal, ``test-faulty`` fails in every way.

``register_all()`` makes them known to this process's registry; under ``CPU_ENGINE_RULES=1`` every server
process does so.
"""

from dataclasses import dataclass

import numpy as np

from adaptive_depth.policies.marginal import Marginal, MarginalConfig
from adaptive_depth.policies.registry import register
from adaptive_depth.policies.types import Reason

FAULTS = ("raise", "nan", "depth", "window", "rows", "observe")


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomConfig:
    """``share`` of the rounds get a random plan, the others that of a learning rule."""

    seed: int = 0
    share: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyConfig:
    """Every ``every``-th plan something is wrong, each of ``FAULTS`` in turn."""

    every: int = 3
    seed: int = 0
    share: float = 0.6


class RandomRule(Marginal):
    """Any tier, any window, anew for every round and request; between them what ``marginal`` has learned."""

    def __init__(self, config, candidates):
        super().__init__(MarginalConfig(), candidates)
        self.config, self.choices = config, candidates
        self.random = np.random.default_rng(config.seed)

    def plan(self, batch, estimates):
        """Random or learned; every request has a window of its own either way."""
        plan = super().plan(batch, estimates)
        if self.random.random() < self.config.share:
            plan.depth = self.random.choice(self.choices.depth_array, len(plan.depth))
            plan.reason = np.full(len(plan.depth), Reason.PROBE, np.uint8)
        plan.window = self.random.choice(self.choices.window_array, len(plan.window))
        return plan


class FaultyRule(RandomRule):
    """Random, but every few plans something is wrong with it."""

    plans = 0

    def plan(self, batch, estimates):
        """Random or wrong."""
        plan = super().plan(batch, estimates)
        self.plans += 1
        turn, due = divmod(self.plans, self.config.every)
        if due == 0:
            spoil(plan, FAULTS[turn % len(FAULTS)])
        return plan

    def observe(self, result):
        """Fail when it is this fault's turn."""
        turn, due = divmod(self.plans, self.config.every)
        if due == 0 and FAULTS[turn % len(FAULTS)] == "observe":
            raise RuntimeError("the rule failed on purpose")
        super().observe(result)


def spoil(plan, fault):
    """Raise, or make the plan impossible."""
    if fault == "raise":
        raise RuntimeError("the rule failed on purpose")
    if fault == "nan":
        plan.depth = np.full(len(plan.depth), np.nan, np.float32)
    elif fault == "depth":
        plan.depth = plan.depth + np.int8(100)
    elif fault == "window":
        plan.window = plan.window - np.int32(5)
    elif fault == "rows":
        plan.window = plan.window[:-1]


def register_all():
    """Make the rules known, once."""
    import adaptive_depth.policies  # noqa: F401 - registers the others first

    register("test-random", RandomConfig)(RandomRule)
    register("test-faulty", FaultyConfig)(FaultyRule)


def break_hooks():
    """Make the plugin's own code fail now and then, wherever it can: ``CPU_ENGINE_BREAK=1``."""
    from adaptive_depth.runtime_hooks import tier_switch
    from adaptive_depth.runtime_hooks.rounds import Rounds
    from adaptive_depth.runtime_hooks.windows import DraftWindows

    Rounds.plan = failing(Rounds.plan, every=11)
    Rounds.finish = failing(Rounds.finish, every=13)
    DraftWindows.caps = failing(DraftWindows.caps, every=17)
    tier_switch.apply_tier = failing(tier_switch.apply_tier, every=7, half_way=True)


def failing(function, every, half_way=False):
    """``function``, raising at every ``every``-th call, before or after its work."""
    calls = 0

    def fail(*args, **kwargs):
        nonlocal calls
        calls += 1
        due = calls % every == 0
        if due and not half_way:
            raise RuntimeError("broken on purpose")
        result = function(*args, **kwargs)
        if due:
            raise RuntimeError("broken on purpose")
        return result

    return fail


class BadSink:
    """A listener that fails at its third event."""

    def __init__(self):
        self.events = 0

    def put(self, event):
        """Raise."""
        self.events += 1
        if self.events == 3:
            raise OSError("the sink failed on purpose")
