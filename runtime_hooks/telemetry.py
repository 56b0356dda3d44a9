"""All of the plugin that only listens or shows: decision log, metrics, server state, counts a request."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from adaptive_depth.runtime_hooks.decision_log import DecisionLog
from adaptive_depth.runtime_hooks.metrics import Metrics
from adaptive_depth.runtime_hooks.recent import Recent
from adaptive_depth.runtime_hooks.request_info import RequestInfo
from adaptive_depth.runtime_hooks.runtime import AdaptiveRuntime, on_install
from adaptive_depth.runtime_hooks.server_state import ServerState

logger = logging.getLogger(__name__)

_STATE = "managers.scheduler_components.internal_state."
_RESULTS = "managers.scheduler_components.batch_result_processor.SchedulerBatchResultProcessor."
_STREAMER = "managers.scheduler_components.output_streamer.SchedulerOutputStreamer."

Hook = tuple[str, Callable[..., Any], str]


class Telemetry:
    """The listeners of one scheduler process; only the first rank of a server writes a log and publishes."""

    def __init__(self, runtime: AdaptiveRuntime, log_folder: str | None, first_rank: bool) -> None:
        """Nothing listens before :meth:`start`."""
        self._runtime, self._folder = runtime, log_folder if first_rank else None
        self._recent = Recent()
        self._log: DecisionLog | None = None

    def hooks(self) -> list[Hook]:
        """Targets below ``sglang.srt``, hooks and kinds."""
        from sglang.srt.managers.scheduler_components import internal_state

        info = RequestInfo(self._runtime)
        state = ServerState(
            self._runtime, self._more, internal_state._UpdateHandler, internal_state.UpdateRejected
        )
        controller = _STATE + "SchedulerInternalStateController."
        return [
            (controller + "_add_speculative", state.show, "after"),
            (controller + "_update_handlers", state.keys, "after"),
            (_RESULTS + "_resolve_spec_v2_tokens", info.count, "around"),
            (_STREAMER + "is_request_level_customized_info_key", info.is_own, "around"),
        ]

    def start(self, collector: Any) -> None:  # noqa: ANN401
        """Listen from now on; ``collector`` is SGLang's, ``None`` without ``--enable-metrics``."""
        self._runtime.add_sink(self._recent)
        if self._folder is not None:
            self._log = DecisionLog(self._folder)
            self._runtime.add_sink(self._log)
            logger.info("adaptive-depth: watch the decisions with: adaptive-depth watch %s", self._folder)
        if collector is not None:
            from prometheus_client import Counter  # type: ignore[import-not-found]

            Metrics(self._runtime, collector.labels, Counter, self._dropped).start()

    def _more(self) -> dict[str, Any]:
        log = None if self._log is None else self._log.status()
        return {"log": log, "recent": self._recent.state()}

    def _dropped(self) -> int:
        return 0 if self._log is None else self._log.dropped


def attach(scheduler: Any, runtime: AdaptiveRuntime, log_folder: str | None) -> list[Hook]:  # noqa: ANN401
    """The hooks of this scheduler's telemetry, which starts to listen as soon as ``runtime`` is in place."""
    from sglang.srt.runtime_context import get_parallel

    ranks = get_parallel()
    telemetry = Telemetry(runtime, log_folder, first_rank=ranks.tp_rank == 0 and ranks.pp_rank == 0)
    on_install(lambda _: telemetry.start(scheduler.metrics_collector))
    return telemetry.hooks()
