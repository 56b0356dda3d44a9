"""What is known of a server before it serves: model, drafter, backends, hardware; for headers and status."""

from __future__ import annotations

import platform
from typing import Any

#: Name in the log's header -> SGLang's argument.
_ARGUMENTS = {
    "model": "served_model_name",
    "model_path": "model_path",
    "draft_model": "speculative_draft_model_path",
    "algorithm": "speculative_algorithm",
    "attention_backend": "attention_backend",
    "draft_attention_backend": "speculative_draft_attention_backend",
    "page_size": "page_size",
    "max_running_requests": "max_running_requests",
    "tp_size": "tp_size",
    "device": "device",
}


def facts_of(scheduler: Any) -> dict[str, Any]:  # noqa: ANN401
    """Plain JSON values; what a server does not say is ``None``."""
    from sglang.srt.runtime_context import get_context

    settled = get_context().resolved_server_args_dict()
    facts = {name: settled.get(argument) for name, argument in _ARGUMENTS.items()}
    return facts | {"overlap": bool(scheduler.enable_overlap), "hardware": _hardware(str(facts["device"]))}


def _hardware(device: str) -> str:
    if device == "cuda":
        import torch

        return str(torch.cuda.get_device_name())
    return f"{device}, {platform.machine()}"
