"""Writes every event of the adaptive-depth plugin to a file, as pickles: ``CPU_ENGINE_EVENTS=FILE``."""

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
