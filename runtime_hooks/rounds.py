"""A decode round from plan to feedback: batch as rows, true depth, late results, ended requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.types import BatchView, Plan, Reason, RoundResult
from adaptive_depth.runtime_hooks.events import (
    NAN,
    ForgetEvent,
    LateStagesEvent,
    Mark,
    RoundEvent,
    RowEvent,
    StageSeconds,
)
from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.slots import SlotTable
from adaptive_depth.runtime_hooks.timing import Pace, StageClock


@dataclass(slots=True)
class Round:
    """A round on its way; it travels with SGLang's own result object."""

    plan: Plan
    view: BatchView
    rids: list[str]
    order: int
    depth: int
    previous_depth: int
    mark: Mark
    stages: StageClock
    launched: float
    #: Host seconds spent on the plan.
    plan_seconds: float


@dataclass(frozen=True, slots=True)
class Before:
    """How a request stood just before its result was taken: ended already, and with how many tokens."""

    gone: bool
    tokens: int


class Rounds:
    """Plans every decode round and takes in what became of it. Used on the scheduler's thread alone."""

    def __init__(
        self, runtime: AdaptiveRuntime, stages: Callable[[], StageClock], learn_seconds: bool
    ) -> None:
        """``stages`` makes a stage clock; without ``learn_seconds`` no time reaches the controller."""
        self.runtime, self._stages, self._learn_seconds = runtime, stages, learn_seconds
        self.slots, self.pace = SlotTable(), Pace()
        self._last_depth = -1
        #: A round that still ran on the device when its result was taken.
        self._running_on: Round | None = None
        #: The round being launched, which the stage hooks time.
        self.launching: Round | None = None

    def plan(self, batch: Foreign) -> Round:
        """Plan the decode round that is about to be launched for SGLang's ``batch``."""
        start = time.perf_counter()
        self._forget("lost", self.slots.lost())
        rids, view = self._rows(batch)
        order = self.runtime.next_order()
        plan = self.runtime.controller.plan(view)
        depth = int(plan.depth[0])
        now = time.perf_counter()
        mark = self.pace.launched(now, depth, len(rids))
        planned = Round(
            plan, view, rids, order, depth, self._last_depth, mark, self._stages(), now, now - start
        )
        self._last_depth = depth
        return planned

    def finish(self, done: Round, batch: Foreign, result: Foreign, before: Sequence[Before]) -> None:
        """Feed back a round whose result SGLang has just taken in."""
        now = time.perf_counter()
        seconds = self.pace.result(done.launched, now, done.mark)
        if [req.rid for req in batch.reqs] != done.rids:
            raise ValueError("the result's requests are not those the round was planned for")
        depth = result.speculative_num_draft_tokens - 1
        accepted = np.array(result.num_correct_drafts_per_req_cpu, np.int8)
        gone = np.array([row.gone for row in before], np.bool_)
        trusted = self._learn_seconds and not done.mark and not gone.any()
        sample = seconds if trusted else NAN
        order = self._observe(done, depth, accepted, ~gone, sample)
        ended = [
            req.rid for req, row in zip(batch.reqs, before, strict=True) if req.finished() and not row.gone
        ]
        took = done.plan_seconds + time.perf_counter() - now
        self.runtime.active = True
        self._tell_late()
        self._running_on = None if done.stages.complete else done
        self.runtime.emit(
            self._event(
                done, batch, depth, accepted, before, order, sample, _stage_seconds(done, seconds, took)
            )
        )
        self._forget("finished", ended)

    def _tell_late(self) -> None:
        """The stages of the round before, which have ended since."""
        late, self._running_on = self._running_on, None
        if late is not None and late.stages.complete:
            stages = StageSeconds(**late.stages.seconds())
            self.runtime.emit(LateStagesEvent(late.plan.plan_id, stages))

    def ended(self, rid: str, why: str) -> None:
        """A request ended or was retracted outside a result."""
        self._forget(why, [rid])

    def _rows(self, batch: Foreign) -> tuple[list[str], BatchView]:
        """SGLang's batch as rows: committed and generated tokens as far as the host knows them by now."""
        reqs = batch.reqs
        rids = [req.rid for req in reqs]
        if batch.seq_lens_cpu is not None:
            context = np.array(batch.seq_lens_cpu, np.int64)
        else:  # some backends leave the lengths on the device; a round old with overlap scheduling
            context = np.array([req.kv.kv_committed_len for req in reqs], np.int64)
        prompt = np.array([len(req.origin_input_ids) for req in reqs], np.int64)
        generated = np.maximum(context - prompt + 1, 0)
        return rids, BatchView(self.slots.of(rids), np.zeros(len(rids), np.int32), context, generated)

    def _observe(
        self,
        done: Round,
        depth: int,
        accepted: npt.NDArray[np.int8],
        live: npt.NDArray[np.bool_],
        sample: float,
    ) -> int:
        """Tell the controller of the rows that still were requests; number of the call."""
        order = self.runtime.next_order()
        view = done.view
        if live.any():
            rows = int(live.sum())
            self.runtime.controller.observe(
                RoundResult(
                    plan_id=done.plan.plan_id,
                    slot=view.slot[live],
                    group=view.group[live],
                    context=view.context[live],
                    depth=np.full(rows, depth, np.int8),
                    window=done.plan.window[live],
                    accepted=accepted[live],
                    seconds=np.array([sample]),
                )
            )
        return order

    def _event(
        self,
        done: Round,
        batch: Foreign,
        depth: int,
        accepted: npt.NDArray[np.int8],
        before: Sequence[Before],
        order: int,
        sample: float,
        seconds: StageSeconds,
    ) -> RoundEvent:
        columns = (done.view.slot, done.view.context, done.view.generated, done.plan.window, accepted)
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        rows = tuple(
            RowEvent(
                *(rid, slot, context, generated, window, depth, took),
                emitted=0 if row.gone else _tokens(req) - row.tokens,
                finished=req.finished() and not row.gone,
                stale=row.gone,
            )
            for rid, req, row, (slot, context, generated, window, took) in zip(
                done.rids, batch.reqs, before, numbers, strict=True
            )
        )
        reason = Reason(int(done.plan.reason[0])).name.lower()
        return RoundEvent(
            *(done.plan.plan_id, time.time(), depth, reason, done.previous_depth, rows, seconds, done.mark),
            planned=done.order,
            observed=order,
            sample=sample,
        )

    def _forget(self, why: str, rids: Iterable[str]) -> None:
        rids = [rid for rid in rids if rid in self.slots]
        if rids:
            slots = self.slots.release(rids)
            order = self.runtime.next_order()
            self.runtime.controller.forget(np.array(slots, np.int32))
            self.runtime.emit(ForgetEvent(time.time(), tuple(slots), tuple(rids), why, order))


def before_result(batch: Foreign) -> list[Before]:
    """Note how the requests of ``batch`` stand before SGLang takes their result in."""
    return [Before(req.finished() or req.is_retracted, len(req.output_ids)) for req in batch.reqs]


def _tokens(req: Foreign) -> int:
    """Output tokens a request keeps; SGLang leaves what lies behind a stop in the list."""
    tokens, kept = len(req.output_ids), req.finished_len
    return tokens if kept is None else min(tokens, kept)


def _stage_seconds(done: Round, seconds: float, took: float) -> StageSeconds:
    return StageSeconds(**done.stages.seconds(), round=seconds, plan=took)
