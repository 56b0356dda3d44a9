"""What a launch cannot have together with ``--adaptive-depth``, each with its reason and its mend."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.traces.errors import ConfigError

#: Attention backends of the draft that take a window for every request.
PER_REQUEST_WINDOW = ("triton", "intel_amx")
#: The same as SGLang's classes of several draft steps.
WINDOWED_BACKENDS = ("TritonMultiStepDraftBackend", "IntelAMXMultiStepDraftBackend")
#: A part of SGLang's own reason against adapting -> what to do about it.
MENDS = {
    "speculative_algorithm": "use --speculative-algorithm NEXTN, EAGLE or EAGLE3",
    "the platform serves": "serve without the platform plugin, by SGLang's own EAGLE worker",
    "speculative_eagle_topk": "pass --speculative-eagle-topk 1",
    "attention DP": "drop --enable-dp-attention",
    "enable_multi_layer_eagle": "drop --enable-multi-layer-eagle",
    "enable_two_batch_overlap": "drop --enable-two-batch-overlap",
    "enable_pdmux": "drop --enable-pdmux",
}


def before_resolution(view: Foreign) -> str | None:
    """Reason and mend against the arguments as typed, or ``None``; ``view`` reads them."""
    for check in (_no_algorithm, _topk, _stock_adaptive, _pipeline, _lora, _hisparse):
        if fault := check(view):
            return fault
    return None


def _no_algorithm(view: Foreign) -> str | None:
    name = view.speculative_algorithm
    if name in ("EAGLE", "EAGLE3", "NEXTN"):
        return None
    what = "no --speculative-algorithm is given" if name is None else f"speculative_algorithm={name}"
    return f"{what}: {MENDS['speculative_algorithm']}"


def _topk(view: Foreign) -> str | None:
    topk = view.speculative_eagle_topk
    if topk in (None, 1):
        return None
    mend = MENDS["speculative_eagle_topk"]
    return f"speculative_eagle_topk={topk} drafts a tree, and depth is that of a chain: {mend}"


def _stock_adaptive(view: Foreign) -> str | None:
    if view.speculative_adaptive or view.speculative_adaptive_config:
        return (
            "--speculative-adaptive is SGLang's own depth rule, and only one rule can decide: drop it "
            "(the same rule is --adaptive-depth-config sglang-ema[:FILE])"
        )
    return None


def _pipeline(view: Foreign) -> str | None:
    if view.pp_size > 1:
        return f"pp_size={view.pp_size}: a pipeline drafts a round before it can be planned; use --pp-size 1"
    return None


def _lora(view: Foreign) -> str | None:
    if getattr(view, "enable_lora", None) or getattr(view, "lora_paths", None):
        return "SGLang does not run LoRA with an adaptive depth: drop --enable-lora and --lora-paths"
    return None


def _hisparse(view: Foreign) -> str | None:
    if getattr(view, "enable_hisparse", False):
        return "SGLang does not run HiSparse with an adaptive depth: drop --enable-hisparse"
    return None


def after_resolution(view: Foreign, reason: Callable[[], str | None]) -> str | None:
    """Reason and mend against the resolved arguments; ``reason`` asks SGLang why it would not adapt."""
    if (stock := reason()) is not None:
        mend = next((mend for part, mend in MENDS.items() if part in stock), "drop that option")
        return f"{stock}: {mend}"
    if not view.speculative_adaptive:
        return "SGLang switched adapting off while it resolved its arguments: see the warning above"
    return None


def windows_refused(view: Foreign, windows: tuple[int, ...]) -> str | None:
    """Why these draft windows would have no effect, or ``None``."""
    if not any(windows):
        return None
    if view.enable_unified_memory or view.dcp_size > 1:
        option = "--enable-unified-memory" if view.enable_unified_memory else "--dcp-size"
        return (
            f"with {option} SGLang keeps the draft's page table in another form: drop it, or use windows [0]"
        )
    backend = draft_backend(view)
    if backend == "flashinfer" and len(windows) == 1:
        return None
    if backend is not None and backend not in PER_REQUEST_WINDOW:
        how = "takes one window for all requests" if backend == "flashinfer" else "ignores draft windows"
        return (
            f"the draft's attention backend {backend} {how}: pass "
            "--speculative-draft-attention-backend triton, or a policy with windows [0]"
        )
    return _own_window(view)


def draft_backend(view: Foreign) -> str | None:
    """Name of the backend that the draft's decode steps attend with, ``None`` while unsettled."""
    for name in ("speculative_draft_attention_backend", "decode_attention_backend", "attention_backend"):
        if (backend := getattr(view, name, None)) is not None:
            return str(backend)
    return None


def _own_window(view: Foreign) -> str | None:
    """A Llama EAGLE3 draft bakes its window in when it is loaded."""
    path = getattr(view, "speculative_draft_model_path", None)
    if path and "LlamaForCausalLMEagle3" in _architectures(Path(path)):
        return (
            "a Llama EAGLE3 draft bakes --speculative-draft-window-size into its layers when it is loaded, "
            "so the window cannot follow a request: use a policy with windows [0] and drop that flag"
        )
    return None


def _architectures(folder: Path) -> list[str]:
    """Architectures of a local checkpoint; none is known of one still to be fetched."""
    try:
        found = json.loads((folder / "config.json").read_text("utf-8")).get("architectures")
    except (OSError, ValueError, AttributeError):
        return []
    return found if isinstance(found, list) else []


def backend_refused(backends: Iterable[Any], windows: tuple[int, ...]) -> None:
    """:class:`ConfigError` for windows on a draft backend that turned out to be none of those that take them.

    ``backends`` are the multi-step backends that SGLang really built, ``None`` for a tier that needs none.
    """
    known = WINDOWED_BACKENDS if len(windows) > 1 else (*WINDOWED_BACKENDS, "FlashInferMultiStepDraftBackend")
    for backend in backends:
        name = type(backend).__name__
        if any(windows) and backend is not None and name not in known:
            raise ConfigError(
                f"SGLang built the draft backend {name}, which ignores draft windows: pass "
                "--speculative-draft-attention-backend triton, or use a policy with windows [0]"
            )


def own_window_refused(sliding_window: int | None, windows: tuple[int, ...]) -> None:
    """:class:`ConfigError` for windows on a draft that attends a sliding window of its own."""
    if any(windows) and sliding_window is not None and sliding_window > 0:
        raise ConfigError(
            f"the draft model has a sliding window of its own, {sliding_window}, which SGLang applies layer "
            "by layer, so draft windows would be ignored: use a policy with windows [0] and drop "
            "--speculative-draft-window-size"
        )
