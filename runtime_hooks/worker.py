"""Hooks on SGLang's EAGLE worker: plan before the launch, tiers, stage times, and the plan on its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptive_depth.runtime_hooks.rounds import Before, Round, Rounds, before_result
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.tier_switch import TierPolicy
from adaptive_depth.runtime_hooks.windows import DraftWindows

Call = Callable[..., Any]
#: Attribute of SGLang's result object that carries our round; a plain dataclass, it goes through the overlap queue.
ATTACHED = "_adaptive_round"
_NOTHING: list[Before] = []


class WorkerHooks:
    """The hooks of one EAGLE worker and of the results it brings; each only translates."""

    def __init__(
        self, runtime: AdaptiveRuntime, rounds: Rounds, tiers: TierPolicy, windows: DraftWindows
    ) -> None:
        """All four belong to this scheduler process."""
        self.runtime, self.rounds, self.tiers, self.windows = runtime, rounds, tiers, windows
        self._agree: Callable[[int], bool] | None = None

    def launch(self, original: Call, worker: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
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

    def _plan(self, batch: Any) -> Round | None:  # noqa: ANN401
        """Set tier and windows for this round; the start depth where there is nothing to plan or it failed."""
        self.tiers.depth = self.tiers.start
        if batch.forward_mode.is_idle() or self.runtime.tripped or not batch.reqs:
            return None
        return self.runtime.attempt("plan", lambda: self._planned(batch), None)

    def _planned(self, batch: Any) -> Round:  # noqa: ANN401
        planned = self.rounds.plan(batch)
        if planned.depth not in self.tiers.candidate_steps:
            raise ValueError(f"depth {planned.depth} has no buffers on this server")
        self.windows.choose(planned.plan.window)
        self.tiers.depth = planned.depth
        return planned

    def result(self, original: Call, processor: Any, batch: Any, result: Any) -> Any:  # noqa: ANN401
        """Around ``process_batch_result_decode``: what the round brought, once SGLang has taken it in."""
        done = getattr(result, ATTACHED, None)
        if done is None:
            return original(processor, batch, result)
        before = self.runtime.attempt("feedback", lambda: before_result(batch), _NOTHING)
        answer = original(processor, batch, result)
        if before is not _NOTHING:
            self.runtime.attempt("feedback", lambda: self.rounds.finish(done, batch, result, before), None)
        return answer

    def retracted(self, req: Any) -> None:  # noqa: ANN401
        """Before ``Req.reset_for_retract``: the request will come back as if it were new."""
        self.runtime.attempt("feedback", lambda: self.rounds.ended(req.rid, "retracted"), None)

    def stage(self, name: str) -> Call:
        """A hook around one stage of the worker that times it while a planned round is launched."""

        def timed(original: Call, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            launching = self.rounds.launching
            if launching is None:
                return original(*args, **kwargs)
            return launching.stages.run(name, lambda: original(*args, **kwargs))

        return timed
