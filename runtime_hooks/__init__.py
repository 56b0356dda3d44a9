"""The SGLang plugin: draft depth and window that follow each request, switched on by ``--adaptive-depth``."""


def register() -> None:
    """Entry point of ``sglang.srt.plugins``; SGLang calls it in every process it starts.

    Adds the command-line flags and one look at the start of the scheduler. Without ``--adaptive-depth``
    nothing else of the server is touched.
    """
    from adaptive_depth.runtime_hooks.plugin import register_hooks

    register_hooks()
