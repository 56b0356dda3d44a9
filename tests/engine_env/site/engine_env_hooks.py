"""SGLang plugin of the tests: what stock 0.5.23 lacks for EAGLE and NEXTN chains on a machine without a GPU.

1. ``has_amx`` is asked in one place for a text model, the rule that swaps ``intel_amx`` for ``torch_native``,
   which has no multi-step draft form. The layers ask ``cpu_has_amx_support()``, which stays false.
2. With ``TRITON_INTERPRET=1`` the Triton attention backend runs on CPU tensors; its verify pass needs
   full-row masks, while the CPU default suits ``intel_amx``. Without this hook it is silently wrong.
3. With ``CPU_ENGINE_OVERLAP=1`` the overlap scheduler stays on, which stock SGLang switches off on a CPU.
   It needs ``TRITON_INTERPRET=1`` too: one small kernel of that loop exists in Triton only.
4. With ``CPU_ENGINE_RULES=1`` the rules of ``engine_env.rules`` can be named as a policy, and with
   ``CPU_ENGINE_EVENTS=FILE`` every event of the plugin under test is written to a file. With
   ``CPU_ENGINE_BREAK=1`` the plugin's own hooks fail now and then, with ``CPU_ENGINE_LOG_FAULT=1`` its
   decision log does.
"""

import os
import sys


def _mask_mode(original):
    from sglang.kernels.ops.speculative.spec_tree import TreeMaskMode
    from sglang.srt.runtime_context import attention_backends

    return TreeMaskMode.FULL_MASK if "triton" in attention_backends() else original()


def activate():
    """Entry point; SGLang calls it in every process it starts."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from sglang.srt.runtime_context import override_platform
    from sglang.srt.utils import is_cpu

    if not is_cpu():
        return
    if os.environ.get("CPU_ENGINE_RULES") == "1":
        from engine_env.rules import register_all

        register_all()
    if os.environ.get("CPU_ENGINE_EVENTS") and "sglang.srt.managers.scheduler" in sys.modules:
        from engine_env.events import watch

        watch(os.environ["CPU_ENGINE_EVENTS"])
        if os.environ.get("CPU_ENGINE_BREAK") == "1":
            from engine_env.rules import BadSink, break_hooks

            from adaptive_depth.runtime_hooks.runtime import on_install

            break_hooks()
            on_install(lambda runtime: runtime.add_sink(BadSink()))
    if os.environ.get("CPU_ENGINE_LOG_FAULT") == "1":
        from engine_env.log_faults import break_log

        break_log()
    override_platform(has_amx=True).install()
    mask_mode = "sglang.srt.speculative.eagle_utils.default_tree_mask_mode"
    HookRegistry.register(mask_mode, _mask_mode, HookType.AROUND)
    if os.environ.get("CPU_ENGINE_OVERLAP") == "1":
        overlap_off = "sglang.srt.arg_groups.speculative_hook._disable_overlap_schedule_for_cpu"
        HookRegistry.register(overlap_off, lambda server_args: None, HookType.REPLACE)
