"""Writes every event of the adaptive-depth plugin to a file, as pickles: ``CPU_ENGINE_EVENTS=FILE``."""

import json
import pickle


class EventFile:
    """A sink that writes through; the tests' servers are killed, not ended."""

    def __init__(self, path):
        self.file = open(path, "wb", buffering=0)  # noqa: SIM115 - open as long as the server

    def put(self, event):
        """Write one event."""
        self.file.write(pickle.dumps(event))


def watch(path):
    """Attach an :class:`EventFile` to the runtime, once there is one."""
    from adaptive_depth.runtime_hooks.runtime import on_install

    on_install(lambda runtime: runtime.add_sink(EventFile(path)))


def read(path):
    """The events of a file, in order; a torn last one is left out."""
    events = []
    with open(path, "rb") as file:
        while True:
            try:
                events.append(pickle.load(file))
            except (EOFError, pickle.UnpicklingError):
                return events


def replay(events):
    """Feed a run's events to a fresh controller: ``[(event, plan), ...]``, a plan a round, in their order.

    What the controller is told is what the events say it was told, in the order they number.
    """
    import numpy as np

    from adaptive_depth.controller.build import build_controller
    from adaptive_depth.controller.policy_file import PolicyFile
    from adaptive_depth.runtime_hooks.events import ControlEvent, ForgetEvent, RoundEvent

    start = events[0]
    file = PolicyFile.model_validate_json(json.dumps(start.policy))
    controller = build_controller(file, online_cost=start.online_cost)
    steps, plans = {}, []
    for event in events:
        if isinstance(event, RoundEvent):
            steps[event.planned] = lambda event=event: plans.append((event, controller.plan(view(event))))
            steps[event.observed] = lambda event=event: observe(controller, event)
        elif isinstance(event, ForgetEvent):
            steps[event.order] = lambda event=event: controller.forget(np.array(event.slots))
        elif isinstance(event, ControlEvent):
            steps[event.order] = lambda event=event: getattr(controller, event.action)(event.value)
    for number in sorted(steps):
        steps[number]()
    return plans


def column(rows, name, kind):
    """One field of the rows as an array."""
    import numpy as np

    return np.array([getattr(row, name) for row in rows], kind)


def view(event):
    """The batch a round was planned for."""
    import numpy as np

    from adaptive_depth.policies.types import BatchView

    rows = event.rows
    return BatchView(
        *(column(rows, "slot", np.int32), np.zeros(len(rows), np.int32)),
        *(column(rows, "context", np.int64), column(rows, "generated", np.int64)),
    )


def observe(controller, event):
    """Tell the controller what became of a round, the rows that had ended left out."""
    import numpy as np

    from adaptive_depth.policies.types import RoundResult

    rows = [row for row in event.rows if not row.stale]
    if not rows:
        return
    count = len(rows)
    controller.observe(
        RoundResult(
            plan_id=event.plan_id,
            slot=column(rows, "slot", np.int32),
            group=np.zeros(count, np.int32),
            context=column(rows, "context", np.int64),
            depth=np.full(count, event.depth, np.int8),
            window=column(rows, "window", np.int32),
            accepted=column(rows, "accepted", np.int8),
            seconds=np.array([event.sample]),
        )
    )
