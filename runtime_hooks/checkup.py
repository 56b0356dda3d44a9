"""Looks at an installation and at launch arguments: what is there, what fits, what would be refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

import adaptive_depth
from adaptive_depth.runtime_hooks import refusals
from adaptive_depth.runtime_hooks.buffers import logits_bytes, tier_buffers
from adaptive_depth.runtime_hooks.flags import Options
from adaptive_depth.runtime_hooks.launch_arguments import Arguments, model_limits, read_arguments
from adaptive_depth.runtime_hooks.resolve import settled
from adaptive_depth.runtime_hooks.targets import TARGETS, check_targets, check_version, installed_version
from adaptive_depth.traces.errors import AdaptiveDepthError

#: The group and name under which SGLang finds the plugin.
GROUP, PLUGIN = "sglang.srt.plugins", "adaptive_depth"
#: Batch and context that buffers are estimated for where the launch does not say.
USUAL_BATCH, USUAL_CONTEXT = 32, 131_072
_RESOLVE_S = 180

#: Run by another interpreter: settle the launch as the server would, and end.
_RESOLVE = """
import sys
from sglang.srt.plugins import load_plugins
load_plugins()
from sglang.srt.server_args import prepare_server_args
prepare_server_args(sys.argv[1:]).resolve_once()
"""


def installation() -> dict[str, Any]:
    """What is installed, and which hook targets differ; ``problems`` is empty where all is well."""
    version = installed_version()
    problems, hooks = [], {"checked": 0, "matched": 0}
    try:
        targets = check_version(version)
        faults = check_targets(targets)
        hooks = {"checked": len(targets), "matched": len(targets) - len(faults)}
        problems += faults
    except AdaptiveDepthError as error:
        problems.append(str(error))
    if version is not None and not _is_registered():
        problems.append("SGLang would not find the plugin, its entry point is missing: install it again")
    return {
        "adaptive_depth": adaptive_depth.__version__,
        "python": sys.version.split()[0],
        "sglang": version,
        "tested_with": list(TARGETS),
        "plugin_registered": _is_registered(),
        "hooks": hooks,
        "problems": problems,
    }


def launch(argv: Sequence[str], ask_sglang: bool) -> dict[str, Any]:
    """What these launch arguments come to: refusals, tiers, windows and their buffers.

    Without ``ask_sglang`` only what adaptive depth itself can tell from the arguments is checked.
    """
    found: dict[str, Any] = {"arguments": list(argv), "refused": [], "notes": [], "checked_by_sglang": False}
    try:
        args = read_arguments(argv)
        if (fault := refusals.before_resolution(args)) is not None:
            found["refused"].append(fault)
            return found
        settled_launch = settled(Options(args.adaptive_depth_config, args.adaptive_depth_log), args)
    except AdaptiveDepthError as error:
        found["refused"].append(str(error))
        return found
    file = settled_launch.file()
    choices = file.choices()
    if (fault := refusals.windows_refused(args, choices.windows)) is not None:
        found["refused"].append(fault)
    found["notes"] += settled_launch.notes
    found |= {
        "policy": file.policy,
        "depths": list(choices.depths),
        "windows": list(choices.windows),
        "sink": choices.sink,
        "start_depth": choices.start_depth,
        "extend_window": file.extend_window,
        "buffers": _buffers(args, choices.depths),
    }
    if ask_sglang and not found["refused"]:
        _ask_sglang(argv, found)
    return found


def _is_registered() -> bool:
    return any(point.name == PLUGIN for point in metadata.entry_points(group=GROUP))


def _buffers(args: Arguments, depths: tuple[int, ...]) -> dict[str, Any]:
    model_context, vocabulary = model_limits(args.model_path)
    batch = args.cuda_graph_max_bs_decode or args.max_running_requests
    context = args.context_length or model_context
    here = batch or USUAL_BATCH, context or USUAL_CONTEXT
    return {
        "batch": here[0],
        "context": here[1],
        "assumed": [name for name, value in (("batch", batch), ("context", context)) if not value],
        "tiers": [asdict(tier) | {"total_bytes": tier.total_bytes} for tier in tier_buffers(depths, *here)],
        "shared_logits_bytes": logits_bytes(depths[-1], here[0], vocabulary) if vocabulary else None,
    }


def _ask_sglang(argv: Sequence[str], found: dict[str, Any]) -> None:
    """Let SGLang settle the arguments in a process of its own, plugin included."""
    words = [*argv] if "--adaptive-depth" in argv else [*argv, "--adaptive-depth"]
    command = [sys.executable, "-c", _RESOLVE, *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_RESOLVE_S, env=os.environ)
    except subprocess.TimeoutExpired:
        found["notes"].append(f"SGLang did not settle the arguments within {_RESOLVE_S} s")
        return
    found["checked_by_sglang"] = True
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        own = [line for line in lines if line.startswith("adaptive-depth: ")]
        reason = own[-1].removeprefix("adaptive-depth: ") if own else f"SGLang itself: {lines[-1]}"
        found["refused"].append(reason)
