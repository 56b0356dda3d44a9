"""How the plugin is seen and steered from outside: ``/server_info`` and ``/set_internal_state``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime

#: Keys of ``/set_internal_state``; the values are numbers, as SGLang takes no others.
FORCE, ENABLE = "adaptive_depth_force", "adaptive_depth_enable"
RELEASE = -1


class ServerState:
    """Hooks on SGLang's ``SchedulerInternalStateController``.

    ``more`` adds what the runtime's status does not know: the log, the last rounds. ``handler`` and
    ``rejected`` are SGLang's own types for a key that can be set and for a value that is refused.
    """

    def __init__(
        self,
        runtime: AdaptiveRuntime,
        more: Callable[[], dict[str, Any]],
        handler: Callable[..., Any],
        rejected: type[Exception],
    ) -> None:
        """Show and steer ``runtime``."""
        self._runtime, self._more = runtime, more
        self._handler, self._rejected = handler, rejected

    def show(self, _result: None, _controller: object, state: dict[str, Any]) -> None:
        """After ``_add_speculative``: put ours beside SGLang's own state."""
        self._runtime.attempt("status", lambda: self._add(state), None)

    def keys(self, handlers: dict[str, Any], _controller: object) -> dict[str, Any]:
        """After ``_update_handlers``: two keys more."""
        return handlers | {
            FORCE: self._handler(self._check_force, self._force),
            ENABLE: self._handler(self._check_enable, self._enable),
        }

    def _add(self, state: dict[str, Any]) -> None:
        state["adaptive_depth"] = self._runtime.status() | self._more()

    def _check_force(self, key: str, value: object) -> None:
        allowed = (RELEASE, *self._runtime.controller.candidates.depths)
        if value not in allowed:
            raise self._rejected(f"{key}={value}: expected one of {allowed}; {RELEASE} releases the depth")

    def _force(self, _key: str, value: float) -> None:
        self._runtime.force(None if value == RELEASE else int(value))

    def _check_enable(self, key: str, value: object) -> None:
        if value not in (0, 1):
            raise self._rejected(f"{key}={value}: expected 0 or 1")

    def _enable(self, _key: str, value: float) -> None:
        self._runtime.enable(bool(value))
