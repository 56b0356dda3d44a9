"""Hooks on SGLang's EAGLE worker: plan before the launch, tiers, stage times, and the plan on its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptive_depth.runtime_hooks.agreement import Agreement, alone
from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.runtime_hooks.rounds import Before, Round, Rounds, before_result
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.tier_switch import TierPolicy
from adaptive_depth.runtime_hooks.windows import DraftWindows
from adaptive_depth.traces.errors import HookTargetError

Call = Callable[..., Any]
#: Attribute of SGLang's result object that carries our round; a plain dataclass, it goes through the overlap
#: queue.
ATTACHED = "_adaptive_round"
#: Rounds on their way at most, without one coming back, before something must be wrong.
HANDSHAKE_ROUNDS = 16
_NOTHING: list[Before] = []


class WorkerHooks:
    """The hooks of one EAGLE worker and of the results it brings; each only translates."""

    def __init__(
        self, runtime: AdaptiveRuntime, rounds: Rounds, tiers: TierPolicy, windows: DraftWindows
    ) -> None:
        """All four belong to this scheduler process."""
        self.runtime, self.rounds, self.tiers, self.windows = runtime, rounds, tiers, windows
        #: Replaced where several ranks must plan the same.
        self.agree: Agreement = alone
        self._launched = 0

    def launch(
        self, original: Call, worker: Foreign, batch: Foreign, *args: Foreign, **kwargs: Foreign
    ) -> Foreign:
        """Around ``EAGLEWorkerV2.forward_batch_generation``: plan, launch, and put the plan on the result."""
        if batch.forward_mode.is_extend() or batch.is_extend_in_batch:
            self.rounds.pace.prefill()
            return original(worker, batch, *args, **kwargs)
        planned = self._plan(batch)
        self.rounds.launching = planned
        try:
            result = original(worker, batch, *args, **kwargs)
        finally:
            self.rounds.launching = None
            self.windows.clear()
        if planned is not None:
            setattr(result, ATTACHED, planned)
        return result

    def _plan(self, batch: Foreign) -> Round | None:
        """Set tier and windows for this round; the start depth where there is no plan, or it failed."""
        self.tiers.depth = self.tiers.start
        if batch.forward_mode.is_idle() or not batch.reqs:
            return None
        planned = None
        if not self.runtime.tripped:
            planned = self.runtime.attempt("plan", lambda: self._planned(batch), None)
        if not self.agree(planned):
            self.runtime.stop("ranks", HookTargetError("the ranks planned differently; all stay static"))
            planned = None
        return (
            planned if planned and self.runtime.attempt("plan", lambda: self._adopt(planned), False) else None
        )

    def _planned(self, batch: Foreign) -> Round:
        planned = self.rounds.plan(batch)
        if planned.depth not in self.tiers.candidate_steps:
            raise ValueError(f"depth {planned.depth} has no buffers on this server")
        return planned

    def _adopt(self, planned: Round) -> bool:
        """Make the launch run at what was planned."""
        self.windows.choose(planned.plan.window)
        self.tiers.depth = planned.depth
        self._launched += 1
        if self._launched == HANDSHAKE_ROUNDS and not self.runtime.active:
            raise HookTargetError(f"{self._launched} rounds were launched and none came back to the hooks")
        return True

    def result(self, original: Call, processor: Foreign, batch: Foreign, result: Foreign) -> Foreign:
        """Around ``process_batch_result_decode``: what the round brought, once SGLang has taken it in."""
        done = getattr(result, ATTACHED, None)
        if done is None:
            self.runtime.attempt("handshake", self._unplanned, None)
            return original(processor, batch, result)
        before = self.runtime.attempt("feedback", lambda: before_result(batch), _NOTHING)
        answer = original(processor, batch, result)
        if before is not _NOTHING:
            self.runtime.attempt("feedback", lambda: self.rounds.finish(done, batch, result, before), None)
        return answer

    def _unplanned(self) -> None:
        """A decode result without our plan: an error if that is how it begins."""
        if not self.runtime.active and not self.runtime.counts.faults:
            raise HookTargetError("the first decode round did not pass through the hooked launch")

    def retracted(self, req: Foreign) -> None:
        """Before ``Req.reset_for_retract``: the request will come back as if it were new."""
        self.runtime.attempt("feedback", lambda: self.rounds.ended(req.rid, "retracted"), None)

    def stage(self, name: str) -> Call:
        """A hook around one stage of the worker that times it while a planned round is launched."""

        def timed(original: Call, *args: Foreign, **kwargs: Foreign) -> Foreign:
            launching = self.rounds.launching
            if launching is None:
                return original(*args, **kwargs)
            return launching.stages.run(name, lambda: original(*args, **kwargs))

        return timed
