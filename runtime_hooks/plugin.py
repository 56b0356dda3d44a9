"""Registers the hooks: a few cheap ones in every process, the rest only where a scheduler starts adaptive."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from adaptive_depth.runtime_hooks.flags import add_flags, options_of, stash_flags
from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.runtime_hooks.resolve import resolve
from adaptive_depth.runtime_hooks.targets import check_version, installed_version
from adaptive_depth.traces.errors import HookTargetError

PREFIX = "sglang.srt."
_SCHEDULER = "sglang.srt.managers.scheduler"


def register_hooks() -> None:
    """Register flags and resolution, and in a scheduler process the look at its start.

    An SGLang without these parts has no flag either; asked for by environment, it is refused.
    """
    try:
        from sglang.srt.arg_groups.resolution_hooks import register_resolution_hook
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    except ImportError as error:
        if options_of(None) is not None:
            raise SystemExit(f"adaptive-depth: {_why_not(error)}") from None
        raise

    HookRegistry.register(PREFIX + "server_args.ServerArgs.add_cli_args", add_flags, HookType.AFTER)
    HookRegistry.register(PREFIX + "server_args.ServerArgs.from_cli_args", stash_flags, HookType.AROUND)
    register_resolution_hook("handle_speculative_decoding")(resolve)
    # A scheduler is spawned with a function of this module, so it is loaded there and nowhere else.
    if _SCHEDULER in sys.modules:
        HookRegistry.register(_SCHEDULER + ".Scheduler.maybe_init_draft_worker", _start, HookType.BEFORE)


def _why_not(error: ImportError) -> str:
    """The release if that is the reason, else the error itself."""
    try:
        check_version(installed_version())
    except HookTargetError as refusal:
        return str(refusal)
    return f"this SGLang lacks what the plugin hooks into: {error}"


def _start(scheduler: Foreign) -> None:
    """Hook before the draft worker is made: without adaptive depth it leaves all as it is."""
    from adaptive_depth.runtime_hooks.launch import launch_of

    launch = launch_of(scheduler.server_args)
    if launch is not None:
        from adaptive_depth.runtime_hooks.install import install_hooks

        install_hooks(scheduler, launch)


def apply(hooks: list[tuple[str, Callable[..., Any], str]]) -> None:
    """Register and apply ``(target, hook, kind)``; :class:`HookTargetError` for one that did not land.

    SGLang only logs a hook it cannot apply, and drops one on a target that is hooked already.
    """
    from sglang.srt.plugins.hook_registry import HookRegistry, HookSource, HookType

    targets = [PREFIX + target for target, _, _ in hooks]
    if taken := HookRegistry._patched.intersection(targets):
        raise HookTargetError(f"another plugin has already hooked {', '.join(sorted(taken))}")
    source = HookSource("adaptive_depth", "adaptive-depth")
    for (_, hook, kind), target in zip(hooks, targets, strict=True):
        HookRegistry.register(target, hook, HookType(kind), source=source)
    HookRegistry.apply_hooks()
    if missing := set(targets) - HookRegistry._patched:
        raise HookTargetError(f"SGLang did not apply the hooks on {', '.join(sorted(missing))}")
