"""Flags, environment and refusals against SGLang's own argument handling."""

import subprocess
import sys

import pytest

FLAGS = "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1"
FLAGS += " --speculative-num-draft-tokens 4 --adaptive-depth"
EAGLE3 = FLAGS.replace("NEXTN", "EAGLE3 --speculative-draft-model-path {eagle3}")
#: arguments -> what the one message must hold: the reason, and the mend
REFUSED = {
    "--adaptive-depth": ("no --speculative-algorithm", "NEXTN, EAGLE or EAGLE3"),
    f"{FLAGS} --speculative-algorithm NGRAM": ("speculative_algorithm=NGRAM", "NEXTN, EAGLE or EAGLE3"),
    f"{FLAGS} --speculative-eagle-topk 4": ("speculative_eagle_topk=4", "--speculative-eagle-topk 1"),
    f"{FLAGS} --enable-dp-attention --tp-size 2 --dp-size 2": ("attention DP", "--enable-dp-attention"),
    f"{FLAGS} --enable-multi-layer-eagle": ("enable_multi_layer_eagle", "drop --enable-multi-layer-eagle"),
    f"{FLAGS} --enable-two-batch-overlap": ("enable_two_batch_overlap", "drop --enable-two-batch-overlap"),
    f"{FLAGS} --enable-pdmux": ("enable_pdmux", "drop --enable-pdmux"),
    f"{FLAGS} --pp-size 2": ("pp_size=2", "--pp-size 1"),
    f"{FLAGS} --enable-lora --lora-paths a=/a": ("LoRA", "drop --enable-lora"),
    f"{FLAGS} --speculative-adaptive": ("only one rule can decide", "sglang-ema"),
    f"{FLAGS} --attention-backend torch_native --speculative-draft-window-size 64": (
        "torch_native ignores draft windows",
        "--speculative-draft-attention-backend triton",
    ),
    f"{EAGLE3} --speculative-draft-window-size 64": ("bakes", "windows [0]"),
    f"{FLAGS} --adaptive-depth-config {{wide}} --speculative-num-draft-tokens 5": (
        "depth 7 is wider than the launch",
        "pass 8 or drop the depth",
    ),
    f"{FLAGS} --adaptive-depth-config {{wide}} --speculative-num-steps 4 --speculative-num-draft-tokens 5": (
        "--speculative-num-steps 4 is not among",
        "add it to the policy file",
    ),
    f"{FLAGS} --speculative-num-draft-tokens 2": ("leaves no room", "pass 4 or more"),
    f"{FLAGS} --adaptive-depth-config {{wide}} --speculative-draft-window-size 77": (
        "77 is not among the policy's windows",
        "add it to the policy file",
    ),
    f"{FLAGS} --adaptive-depth-config /none.json": ("/none.json: cannot be read", "No such file"),
    f"{FLAGS} --adaptive-depth-config {{torn}}": ("is not JSON", "torn.json"),
    f"{FLAGS} --adaptive-depth-config marginl": ("unknown policy", "did you mean 'marginal'"),
    f"{FLAGS.replace(' --adaptive-depth', '')} --adaptive-depth-log x": ("no effect", "add it"),
}


@pytest.fixture(scope="module")
def parse(models, tmp_path_factory):
    """``parse(arguments, environment)``: SGLang's own parsing and resolution."""
    import json
    import os

    from sglang.srt.plugins import load_plugins

    load_plugins()
    from sglang.srt.server_args import prepare_server_args

    folder = tmp_path_factory.mktemp("launch")
    eagle3 = folder / "eagle3"
    eagle3.mkdir()
    config = json.loads((models["tiny-eagle"] / "config.json").read_text())
    (eagle3 / "config.json").write_text(json.dumps(config | {"architectures": ["LlamaForCausalLMEagle3"]}))
    wide = {"policy": "marginal", "candidates": {"depths": [0, 3, 7], "windows": [0, 64]}}
    (folder / "wide.json").write_text(json.dumps(wide))
    (folder / "torn.json").write_text('{"policy": ')
    files = {"wide": folder / "wide.json", "torn": folder / "torn.json", "eagle3": eagle3}
    base = f"--model-path {models['tiny-mimo']} --device cpu --dtype float32 --disable-cuda-graph"

    def run(arguments, environment=()):
        os.environ.update(environment)
        try:
            args = prepare_server_args(f"{base} {arguments.format(**files)}".split())
            args.resolve_once()
            return args
        finally:
            for name in dict(environment):
                del os.environ[name]

    return run


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_cannot_be_is_refused(parse, arguments):
    """The launch ends before anything is loaded, with one line that holds reason and mend."""
    with pytest.raises(SystemExit) as refusal:
        parse(arguments)
    message = str(refusal.value)
    assert message.startswith("adaptive-depth: ") and "\n" not in message
    for part in REFUSED[arguments]:
        assert part in message


def test_refusal_as_the_operator_sees_it(models):
    """A real launch: exit code 1, the message last on stderr, no traceback."""
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(models["tiny-mimo"])]
    command += f"--device cpu {FLAGS} --speculative-eagle-topk 4".split()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("adaptive-depth: speculative_eagle_topk=4")


def launch(args):
    """What was settled."""
    return args._adaptive_depth.file().choices()


def test_without_the_flag_nothing_is_touched(parse):
    """A launch without --adaptive-depth is SGLang's own."""
    args = parse(FLAGS.replace(" --adaptive-depth", ""))
    assert not hasattr(args, "_adaptive_depth")


def test_sglangs_flags_keep_their_meaning(parse):
    """Start depth, deepest tier, default window and sink are what SGLang's own flags say."""
    choices = launch(parse(f"{FLAGS} --speculative-num-steps 2 --speculative-num-draft-tokens 6"))
    assert choices.start_depth == 2 and choices.depths[0] == 0 and choices.depths[-1] == 5
    windowed = f"{FLAGS} --speculative-draft-window-size 64 --speculative-draft-sink-size 4"
    choices = launch(parse(windowed))
    assert (choices.windows, choices.sink, choices.start_window) == ((64,), 4, 64)


def test_default_tiers_are_five_with_zero_and_start(parse):
    """Whatever the start depth, at most five tiers, 0 and it among them."""
    for steps in (1, 2, 3, 4, 6, 9):
        flags = FLAGS.replace("num-steps 3", f"num-steps {steps}").replace("tokens 4", f"tokens {steps + 1}")
        choices = launch(parse(flags))
        assert len(choices.depths) <= 5 and {0, steps} <= set(choices.depths)
        assert choices.start_depth == steps


def test_environment_switches_it_on(parse):
    """For Engine(...), which takes no flag of ours."""
    environment = {"ADAPTIVE_DEPTH": "1", "ADAPTIVE_DEPTH_CONFIG": "static:5", "ADAPTIVE_DEPTH_LOG": "logs"}
    args = parse(FLAGS.replace(" --adaptive-depth", ""), environment)
    assert args._adaptive_depth.source == "static:5" and args._adaptive_depth.log == "logs"
    assert 5 in launch(args).depths


def test_flags_in_a_config_file(parse, tmp_path):
    """--config files know the flags too."""
    file = tmp_path / "server.yaml"
    file.write_text("adaptive-depth: true\nadaptive-depth-config: static:1\n")
    args = parse(f"{FLAGS.replace(' --adaptive-depth', '')} --config {file}")
    assert args._adaptive_depth.source == "static:1"


def test_help_shows_the_flags():
    """They are listed beside SGLang's own."""
    import argparse

    from sglang.srt.plugins import load_plugins

    load_plugins()
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    told = parser.format_help()
    assert all(f"--adaptive-depth{end}" in told for end in (" ", "-config POLICY", "-log DIR"))


def test_every_hook_target_is_as_tested():
    """The installed SGLang has all names with the parameters the plugin counts on."""
    from adaptive_depth.runtime_hooks.targets import check_targets, check_version, installed_version

    assert check_targets(check_version(installed_version())) == []
