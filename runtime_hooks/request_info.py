"""What an answer says of its own speculation: true counts in ``meta_info``, at whatever depths it ran.

SGLang's own rates divide by the launch depth, so they are wrong as soon as depth adapts. An answer that is
streamed carries no such counts: SGLang sends a request's own values with the first chunk only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime
from adaptive_depth.runtime_hooks.worker import ATTACHED

#: The key in ``meta_info``.
KEY = "adaptive_depth"


class RequestInfo:
    """Hooks that count every request's rounds before its answer leaves the scheduler."""

    def __init__(self, runtime: AdaptiveRuntime) -> None:
        """Faults are counted by ``runtime``."""
        self._runtime = runtime

    def count(self, original: Callable[..., Any], processor: object, result: Any, batch: Any) -> Any:  # noqa: ANN401
        """Around ``_resolve_spec_v2_tokens``, which runs before the answer is sent."""
        if getattr(result, ATTACHED, None) is None:
            return original(processor, result, batch)
        live = self._runtime.attempt("meta_info", lambda: _live(batch.reqs), ())
        answer = original(processor, result, batch)
        self._runtime.attempt("meta_info", lambda: _count(batch.reqs, live, result), None)
        return answer

    def is_own(self, original: Callable[..., bool], streamer: object, key: str) -> bool:
        """Around ``is_request_level_customized_info_key``: ours is a value a request, not one a token."""
        return key == KEY or original(streamer, key)


def _live(reqs: Sequence[Any]) -> tuple[bool, ...]:
    """Which requests still were requests when their result came."""
    return tuple(not (req.finished() or req.is_retracted) for req in reqs)


def _count(reqs: Sequence[Any], live: tuple[bool, ...], result: Any) -> None:  # noqa: ANN401
    depth = result.speculative_num_draft_tokens - 1
    name = str(depth)
    for req, alive, accepted in zip(reqs, live, result.num_correct_drafts_per_req_cpu, strict=True):
        if alive:
            counts = _counts_of(req)
            counts["rounds"] += 1
            counts["proposed"] += depth
            counts["accepted"] += accepted
            counts["depths"][name] = counts["depths"].get(name, 0) + 1


def _counts_of(req: Any) -> dict[str, Any]:  # noqa: ANN401
    info = req.customized_info
    if info is None:
        info = req.customized_info = {}
    if KEY not in info:
        info[KEY] = [{"rounds": 0, "proposed": 0, "accepted": 0, "depths": {}}]
    counts: dict[str, Any] = info[KEY][0]
    return counts
