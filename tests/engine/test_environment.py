"""The engine's environment is what it says: pinned SGLang, stand-ins, and this project beside them."""

import subprocess
import sys


def test_sglang_is_the_pinned_release():
    """The tests speak of SGLang 0.5.23; another release must not pass unseen."""
    import sglang

    assert sglang.__version__ == "0.5.23"


def test_stand_ins_are_found_and_convert_weight_packed_is_not_among_them():
    """SGLang keeps its native torch layers because the stand-in lacks the AMX weight packer."""
    import sgl_kernel
    from sglang.srt.utils import cpu_has_amx_support

    assert "engine_env" in sgl_kernel.__file__
    assert not cpu_has_amx_support()


def test_server_arguments_parse():
    """The server's own parser runs here and knows the flags this project builds on."""
    import argparse

    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    assert {
        "--speculative-draft-window-size",
        "--speculative-adaptive",
    } <= parser._option_string_actions.keys()


def test_project_is_installed_beside_it():
    """The plugin under test is the working tree, by its installed name."""
    import adaptive_depth

    assert adaptive_depth.__version__


def test_server_path_stays_light():
    """The controller loads beside SGLang without the simulator's heavy libraries."""
    code = (
        "import sys, adaptive_depth.controller, adaptive_depth.policies;"
        "print(*({'scipy', 'sklearn', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
