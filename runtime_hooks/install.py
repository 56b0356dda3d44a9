"""Puts the plugin into a scheduler process: hooks first, the controller once SGLang has built its tiers."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import adaptive_depth
from adaptive_depth.controller.build import build_controller
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.policies.cost_model import LinearCost
from adaptive_depth.runtime_hooks import refusals, runtime
from adaptive_depth.runtime_hooks.agreement import group_agreement
from adaptive_depth.runtime_hooks.events import StartEvent
from adaptive_depth.runtime_hooks.facts import facts_of
from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.runtime_hooks.launch import Launch
from adaptive_depth.runtime_hooks.plugin import apply
from adaptive_depth.runtime_hooks.rounds import Rounds
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.targets import require_targets
from adaptive_depth.runtime_hooks.telemetry import attach
from adaptive_depth.runtime_hooks.tier_switch import TierPolicy, TierSwitch
from adaptive_depth.runtime_hooks.timing import stages_for
from adaptive_depth.runtime_hooks.windows import DraftWindows
from adaptive_depth.runtime_hooks.windows_cpu import CpuWindows
from adaptive_depth.runtime_hooks.windows_triton import IndexKernel, TritonExtend
from adaptive_depth.runtime_hooks.worker import WorkerHooks
from adaptive_depth.traces.errors import AdaptiveDepthError

logger = logging.getLogger(__name__)

_WORKER = "speculative.eagle_worker_v2.EAGLEWorkerV2."
_DRAFT = "speculative.eagle_worker_v2.EagleDraftWorker."
_RESULT = "managers.scheduler_components.batch_result_processor.SchedulerBatchResultProcessor."
_TRITON = "layers.attention.triton_backend."
_AMX = "layers.attention.intel_amx_backend."

Hook = tuple[str, Callable[..., Any], str]


def install_hooks(scheduler: Foreign, launch: Launch) -> None:
    """Hook this scheduler's worker, before it is made; a refusal ends the process with one line."""
    try:
        require_targets()
        installation = Installation(launch, facts_of(scheduler))
        apply([*installation.hooks(), *attach(scheduler, installation.runtime, launch.log)])
        installation.replace_index_kernel()
    except AdaptiveDepthError as error:
        raise SystemExit(f"adaptive-depth: {error}") from None


class Installation:
    """Everything of ours in one scheduler process."""

    def __init__(self, launch: Launch, facts: dict[str, Any]) -> None:
        """Build the parts that need no worker yet; ``facts`` are those of :func:`facts_of`."""
        self.launch, self.file, self.tp_size = launch, launch.file(), facts["tp_size"]
        choices, device = self.file.choices(), str(facts["device"])
        online = self.tp_size == 1
        self.runtime = AdaptiveRuntime(
            build_controller(self.file, online_cost=online and _learnable(self.file)),
            start_event(self.file, facts, online),
        )
        self.tiers = TierPolicy(choices.depths, choices.start_depth)
        self.windows = DraftWindows(choices.sink, self.file.extend_window, device)
        rounds = Rounds(self.runtime, stages_for(device), online)
        self.worker_hooks = WorkerHooks(self.runtime, rounds, self.tiers, self.windows)
        self.switch = TierSwitch(self.runtime.attempt)

    def hooks(self) -> list[Hook]:
        """Targets below ``sglang.srt``, hooks and kinds."""
        own = self.worker_hooks
        return [
            (_WORKER + "__init__", self.take_over, "after"),
            (_WORKER + "init_cuda_graphs", self.tiers_built, "after"),
            (_WORKER + "apply_runtime_state", self.switch, "around"),
            (_WORKER + "forward_batch_generation", own.launch, "around"),
            (_WORKER + "verify", own.stage("verify"), "around"),
            (_DRAFT + "draft", own.stage("draft"), "around"),
            (_DRAFT + "_draft_extend_for_decode", own.stage("extend"), "around"),
            (_RESULT + "process_batch_result_decode", own.result, "around"),
            ("managers.schedule_batch.Req.reset_for_retract", own.retracted, "before"),
            *self._window_hooks(),
        ]

    def _window_hooks(self) -> list[Hook]:
        if not any(self.file.choices().windows):
            return []
        cpu = CpuWindows(self.windows, self.runtime.attempt)
        triton = TritonExtend(self.windows, self.runtime.attempt)
        return [
            (_AMX + "IntelAMXMultiStepDraftBackend.init_forward_metadata", cpu.draft_steps, "after"),
            (_AMX + "IntelAMXAttnBackend.__init__", cpu.wrap_extend, "after"),
            (_AMX + "IntelAMXAttnBackend.init_forward_metadata", cpu.draft_extend, "after"),
            (_TRITON + "TritonAttnBackend.init_forward_metadata", triton.eager, "around"),
            (_TRITON + "TritonAttnBackend._update_draft_extend_buffers", triton.graph, "around"),
            (_TRITON + "TritonAttnBackend._fill_kv_indptr_and_indices", triton.fill, "around"),
        ]

    def replace_index_kernel(self) -> None:
        """Set ours in place of a kernel, which is launched by subscription: no hook wraps that."""
        if any(self.file.choices().windows):
            from sglang.srt.layers.attention import triton_backend

            stock = triton_backend.generate_draft_decode_kv_indices
            kernel = IndexKernel(stock, self.windows, self.runtime.attempt)
            triton_backend.generate_draft_decode_kv_indices = kernel

    def take_over(self, _result: None, worker: Foreign, *_args: Foreign, **_kwargs: Foreign) -> None:
        """After the worker is made: our answers instead of SGLang's own rule."""
        if worker.adaptive_controller is None:
            raise SystemExit("adaptive-depth: SGLang built no adaptive controller on this rank")
        worker.adaptive_controller.params = self.tiers

    def tiers_built(self, _result: None, worker: Foreign) -> None:
        """After all tiers have buffers and graphs: the last checks, then serve."""
        try:
            runner = worker._draft_worker.draft_runner
            windows = self.file.choices().windows
            refusals.own_window_refused(getattr(runner, "sliding_window_size", None), windows)
            tiers = worker.adaptive_controller._states.values()
            refusals.backend_refused([tier.draft_attn_backend for tier in tiers], windows)
        except AdaptiveDepthError as error:
            raise SystemExit(f"adaptive-depth: {error}") from None
        if self.tp_size > 1:
            self.worker_hooks.agree = group_agreement()
        self.switch.prepare(worker, self.tiers.candidate_steps)
        runtime.install(self.runtime)
        for note in self.launch.notes:
            logger.warning("adaptive-depth: %s", note)
        logger.info("adaptive-depth: %s over depths %s", self.launch.source, self.tiers.candidate_steps)


def _learnable(file: PolicyFile) -> bool:
    """Only a cost of coefficients can be learned online; a table stays as it is."""
    return isinstance(file.cost_model(), LinearCost | None)


def start_event(file: PolicyFile, facts: dict[str, Any], online: bool) -> StartEvent:
    """What this process runs with."""
    choices = file.choices()
    return StartEvent(
        time=time.time(),
        policy=file.model_dump(mode="json"),
        versions=versions(),
        tiers=choices.depths,
        windows=choices.windows,
        sink=choices.sink,
        start_depth=choices.start_depth,
        start_window=choices.start_window,
        extend_window=file.extend_window,
        online_cost=online and _learnable(file),
        backend=facts,
    )


def versions() -> dict[str, str]:
    """Versions that a decision may hang on."""
    packages = {name: metadata.version(name) for name in ("sglang", "torch", "numpy")}
    return {"adaptive-depth": adaptive_depth.__version__, "python": platform.python_version(), **packages}
