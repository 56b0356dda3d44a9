"""What of SGLang the plugin hooks or reads, per release: dotted name and the parameters it must have.

SGLang's plugin loader only logs a hook that cannot be applied, so this is checked before anything is hooked.
The check reads SGLang's source files without importing them: it costs a tenth of a second and needs neither
torch nor a GPU.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from adaptive_depth.traces.errors import HookTargetError

Parameters = tuple[str, ...]

_WORKER = "speculative.eagle_worker_v2.EAGLEWorkerV2."
_DRAFT = "speculative.eagle_worker_v2.EagleDraftWorker."
_TRITON = "layers.attention.triton_backend."
_AMX = "layers.attention.intel_amx_backend."
_RESULTS = "managers.scheduler_components.batch_result_processor.SchedulerBatchResultProcessor."
_STATE = "managers.scheduler_components.internal_state.SchedulerInternalStateController."
_STREAMER = "managers.scheduler_components.output_streamer.SchedulerOutputStreamer."

#: Every release the plugin was tested on; names lie below ``sglang.srt``.
TARGETS: Mapping[str, Mapping[str, Parameters]] = {
    "0.5.23": {
        "server_args.ServerArgs.add_cli_args": ("parser",),
        "server_args.ServerArgs.from_cli_args": ("cls", "args"),
        "arg_groups.resolution_hooks.register_resolution_hook": ("name",),
        "arg_groups.overrides.declare_resolution": ("server_args", "source", "**fields"),
        "arg_groups.model_override_base.resolving_view": ("server_args",),
        "arg_groups.model_override_base.resolved_view": ("server_args",),
        "speculative.adaptive_spec_params.adaptive_unsupported_reason": ("server_args",),
        "managers.scheduler.Scheduler.maybe_init_draft_worker": ("self",),
        "managers.schedule_batch.Req.reset_for_retract": ("self",),
        _RESULTS + "process_batch_result_decode": ("self", "batch", "result"),
        _RESULTS + "_resolve_spec_v2_tokens": ("self", "result", "batch"),
        _STATE + "_add_speculative": ("self", "state"),
        _STATE + "_update_handlers": ("self",),
        _STREAMER + "is_request_level_customized_info_key": ("self", "key"),
        _WORKER + "__init__": ("self", "server_args", "gpu_id", "nccl_port", "target_worker"),
        _WORKER + "init_cuda_graphs": ("self",),
        _WORKER + "forward_batch_generation": (
            *("self", "batch", "on_publish", "grammar_barrier", "pp_proxy_tensors"),
        ),
        _WORKER + "verify": ("self", "batch", "pp_proxy_tensors", "grammar_barrier"),
        _WORKER + "apply_runtime_state": ("self", "state"),
        _WORKER + "activate_step_by_batch": ("self", "batch_size"),
        _WORKER + "on_verify_complete_cpu": ("self", "num_correct_drafts_per_req", "batch_size"),
        _DRAFT + "draft": ("self", "batch", "with_topology"),
        _DRAFT + "_draft_extend_for_decode": ("self", "batch", "batch_result", "kv_loc_plan"),
        "speculative.base_spec_worker.EagleDraftWorkerBase._rebuild_topk1_chain_buffers": ("self",),
        "speculative.adaptive_runtime_state.AdaptiveController.__init__": ("self", "worker", "policy"),
        "speculative.adaptive_runtime_state.AdaptiveController._activate": ("self", "speculative_num_steps"),
        "distributed.parallel_state.get_tp_group": (),
        _AMX + "IntelAMXAttnBackend.__init__": ("self", "model_runner"),
        _AMX + "IntelAMXAttnBackend.init_forward_metadata": ("self", "forward_batch"),
        _AMX + "IntelAMXMultiStepDraftBackend.init_forward_metadata": ("self", "forward_batch"),
        _TRITON + "TritonMultiStepDraftBackend.common_template": (
            *("self", "forward_batch", "kv_indices_buffer", "call_fn", "window_kv_indices_buffer"),
        ),
        _TRITON + "TritonAttnBackend.init_forward_metadata": ("self", "forward_batch"),
        _TRITON + "TritonAttnBackend._fill_kv_indptr_and_indices": (
            *("self", "plan", "bs", "seq_lens", "req_pool_indices", "kv_indices", "kv_indptr"),
        ),
        _TRITON + "TritonAttnBackend._update_draft_extend_buffers": (
            *("self", "plan", "bs", "seq_lens", "forward_mode", "spec_info", "req_pool_indices"),
        ),
        "mem_cache.kv_index_translator.KVIndexTranslator.pack_read_stream": (
            *("self", "plan", "req_pool_indices", "seq_lens", "indptr", "out", "kv_start_idx", "kind"),
            *("token_mapping", "num_token_blocks", "kv_lens_sum"),
        ),
    }
}


def installed_version() -> str | None:
    """Version of the installed SGLang; ``None`` where there is none."""
    try:
        return metadata.version("sglang")
    except metadata.PackageNotFoundError:
        return None


def check_version(version: str | None) -> Mapping[str, Parameters]:
    """The targets of this release; :class:`HookTargetError` for one the plugin was never tested on."""
    if version is None:
        raise HookTargetError("SGLang is not installed: pip install 'sglang==" + max(TARGETS) + "'")
    if version not in TARGETS:
        tested = ", ".join(TARGETS)
        raise HookTargetError(
            f"SGLang {version} is not a release adaptive-depth was tested on ({tested}): install one of those"
        )
    return TARGETS[version]


def check_targets(targets: Mapping[str, Parameters], root: Path | None = None) -> list[str]:
    """Everything that differs from the installed SGLang, a line each; empty where all is as expected.

    ``root`` is the folder that is ``sglang.srt``; by default the installed one.
    """
    folder = root or _installed_root()
    return [fault for name, expected in targets.items() if (fault := _fault(folder, name, expected))]


def require_targets() -> None:
    """:class:`HookTargetError` that names every mismatch, unless the installed SGLang is as tested."""
    version = installed_version()
    faults = check_targets(check_version(version))
    if faults:
        raise HookTargetError(
            f"this SGLang {version} differs from the release adaptive-depth was tested on: "
            + "; ".join(faults)
            + "; reinstall it with pip install --force-reinstall --no-deps sglang=="
            + str(version)
        )


def _installed_root() -> Path:
    spec = importlib.util.find_spec("sglang")
    if spec is None or not spec.submodule_search_locations:
        raise HookTargetError("SGLang is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / "srt"


def _fault(root: Path, name: str, expected: Parameters) -> str:
    found = _parameters(root, name)
    if found is None:
        return f"sglang.srt.{name} is missing"
    if found != expected:
        return f"sglang.srt.{name} takes ({', '.join(found)}), expected ({', '.join(expected)})"
    return ""


def _parameters(root: Path, name: str) -> Parameters | None:
    """Parameters of a function or method as its source has them; ``None`` where it is not found."""
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        file = root.joinpath(*parts[:split]).with_suffix(".py")
        if file.is_file():
            return _in_body(_module(file), parts[split:])
    return None


@cache
def _module(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def _in_body(body: ast.Module | ast.ClassDef, path: Sequence[str]) -> Parameters | None:
    for node in body.body:
        if isinstance(node, ast.ClassDef) and node.name == path[0] and len(path) > 1:
            return _in_body(node, path[1:])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and [node.name] == list(path):
            return _names(node.args)
    return None


def _names(arguments: ast.arguments) -> Parameters:
    plain = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    starred = [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    keyword = [argument.arg for argument in arguments.kwonlyargs]
    double = [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return (*plain, *starred, *keyword, *double)
