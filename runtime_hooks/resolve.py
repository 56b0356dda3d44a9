"""Settles the launch: sets the server arguments adaptive depth needs, refuses those it cannot have."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from collections.abc import Callable
from typing import Any

from adaptive_depth.controller.build import read_policy
from adaptive_depth.controller.policy_file import PolicyFile
from adaptive_depth.runtime_hooks import refusals
from adaptive_depth.runtime_hooks.flags import CARRIER, Options, options_of
from adaptive_depth.runtime_hooks.foreign import Foreign
from adaptive_depth.runtime_hooks.launch import DEFAULT_POLICY, Launch, as_file, with_cost
from adaptive_depth.runtime_hooks.targets import require_targets
from adaptive_depth.runtime_hooks.tiers import LaunchFlags, launched_policy
from adaptive_depth.traces.errors import AdaptiveDepthError, ConfigError

_SOURCE = "adaptive_depth"


def resolve(server_args: Foreign, previous: Callable[[Any], None]) -> None:
    """Hook around SGLang's step ``handle_speculative_decoding``.

    Without adaptive depth it is SGLang's step and nothing else. A refusal ends the launch with one line.
    """
    try:
        options = options_of(server_args)
        if options is None:
            previous(server_args)
            return
        _settle(server_args, options, previous)
    except AdaptiveDepthError as error:
        raise SystemExit(f"adaptive-depth: {error}") from None


def _settle(server_args: Foreign, options: Options, previous: Callable[[Any], None]) -> None:
    require_targets()
    from sglang.srt.arg_groups.model_override_base import resolved_view, resolving_view
    from sglang.srt.arg_groups.overrides import declare_resolution
    from sglang.srt.speculative.adaptive_spec_params import adaptive_unsupported_reason

    view = resolving_view(server_args)
    _refuse(refusals.before_resolution(view))
    launch = settled(options, view)
    declare_resolution(server_args, _SOURCE, **_arguments(launch.file()))
    previous(server_args)
    _refuse(refusals.after_resolution(view, lambda: adaptive_unsupported_reason(server_args)))
    _refuse(refusals.windows_refused(resolved_view(server_args), launch.file().choices().windows))
    setattr(server_args, CARRIER, launch)


def settled(options: Options, view: Foreign) -> Launch:
    """Policy and SGLang's own flags put together; :class:`ConfigError` where they cannot be."""
    source = options.policy or DEFAULT_POLICY
    flags = LaunchFlags(
        view.speculative_num_steps,
        view.speculative_num_draft_tokens,
        view.speculative_draft_window_size,
        view.speculative_draft_sink_size,
    )
    one_window = refusals.draft_backend(view) == "flashinfer"
    policy = with_cost(launched_policy(as_file(read_policy(source)), flags, extend=not one_window))
    notes = []
    if any(policy.choices().windows) and one_window:
        notes.append("FlashInfer takes one draft window for all requests, and none in draft-extend")
    if view.tp_size > 1:
        notes.append("with tensor parallelism the cost of a round is not learned online: it stays as given")
    return Launch(policy.model_dump_json(), source, options.log, tuple(notes))


def _arguments(policy: PolicyFile) -> dict[str, Any]:
    """SGLang's own arguments that this policy needs."""
    choices = policy.choices()
    arguments: dict[str, Any] = {
        "speculative_adaptive": True,
        "speculative_adaptive_config": _tier_file(choices.depths),
        "speculative_eagle_topk": 1,
        "speculative_num_steps": choices.start_depth,
        "speculative_num_draft_tokens": choices.start_depth + 1,
    }
    if choices.start_window:
        arguments["speculative_draft_window_size"] = choices.start_window
        arguments["speculative_draft_sink_size"] = choices.sink
    return arguments


def _tier_file(depths: tuple[int, ...]) -> str:
    """SGLang reads its tiers from a file, in every process: one that lives as long as this process."""
    handle, path = tempfile.mkstemp(".json", "adaptive-depth-tiers-")
    with os.fdopen(handle, "w") as file:
        json.dump({"1": {"candidate_steps": list(depths)}}, file)
    atexit.register(_remove, path, os.getpid())
    return path


def _remove(path: str, owner: int) -> None:
    """Only the process that made it, not a fork of it."""
    if os.getpid() == owner and os.path.exists(path):
        os.unlink(path)


def _refuse(fault: str | None) -> None:
    if fault:
        raise ConfigError(fault)
