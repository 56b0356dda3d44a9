"""Tiny random models made on the spot: a MiMo target that carries its own NEXTN head, and an EAGLE draft.

The target's next token hangs mostly on the last token and a little on the context; the drafts copy the first
part and get the second wrong, so some chains are accepted whole, some in part and some not at all.
``python -m engine_env.models FOLDER`` makes them in a few seconds; a second call finds them made.
"""

import hashlib
import json
import sys
from pathlib import Path

HIDDEN, VOCAB, LAYERS, HEADS, KV_HEADS, LENGTH = 64, 1024, 2, 4, 2, 8192
TARGET, EAGLE = "tiny-mimo", "tiny-eagle"
#: What a block adds, attention and MLP, of the target and of the drafts: by these the acceptance was set.
BODY, DRAFT = (0.03, 0.03), (0.1, 0.01)
APART, HARD = 0.35, 0.45
BLOCK = {  # weights of one transformer block: name -> (rows, columns)
    "self_attn.q_proj.weight": (HIDDEN, HIDDEN),
    "self_attn.k_proj.weight": (HIDDEN // 2, HIDDEN),
    "self_attn.v_proj.weight": (HIDDEN // 2, HIDDEN),
    "self_attn.o_proj.weight": (HIDDEN, HIDDEN),
    "mlp.gate_proj.weight": (2 * HIDDEN, HIDDEN),
    "mlp.up_proj.weight": (2 * HIDDEN, HIDDEN),
    "mlp.down_proj.weight": (HIDDEN, 2 * HIDDEN),
}
CONFIG = {
    "hidden_size": HIDDEN,
    "intermediate_size": 2 * HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HIDDEN // HEADS,
    "vocab_size": VOCAB,
    "max_position_embeddings": LENGTH,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "bos_token_id": VOCAB - 2,
    "eos_token_id": VOCAB - 1,
    "torch_dtype": "float32",
}


def block(random, prefix, attention, mlp, norms=("input_layernorm", "post_attention_layernorm")):
    """One transformer block; ``attention`` and ``mlp`` scale what it adds to the residual stream."""
    import torch

    weights = {prefix + name: 0.2 * random(*shape) for name, shape in BLOCK.items()}
    weights[prefix + "self_attn.o_proj.weight"] *= attention
    weights[prefix + "mlp.down_proj.weight"] *= mlp
    return weights | {f"{prefix}{norm}.weight": torch.ones(HIDDEN) for norm in norms}


def vocabulary(random, apart=APART, hard=HARD):
    """Embedding and head of two halves: a text stays in its half, and the second half is harder to draft for.

    Its embeddings are ``hard`` times as long, so that the context, which the drafts get wrong, weighs more.
    """
    import torch

    side = torch.ones(VOCAB, 1)
    side[VOCAB // 2 :] = -1
    embedding = random(VOCAB, HIDDEN) + apart * side
    embedding[VOCAB // 2 :] *= hard
    return {"model.embed_tokens.weight": embedding, "lm_head.weight": random(VOCAB, HIDDEN) + apart * side}


def target_weights(random, body=BODY, draft=DRAFT):
    """MiMo body and head, and one MTP layer that sees the token and the target's hidden state."""
    import torch

    weights = vocabulary(random) | {"model.norm.weight": torch.ones(HIDDEN)}
    for layer in range(LAYERS):
        weights |= with_biases(
            block(random, f"model.layers.{layer}.", *body), f"model.layers.{layer}.", random
        )
    head = "model.mtp_layers.0."
    weights |= with_biases(block(random, head, *draft), head, random)
    for norm in ("token_layernorm", "hidden_layernorm", "final_layernorm"):
        weights[f"{head}{norm}.weight"] = torch.ones(HIDDEN)
    weights[head + "input_proj.weight"] = torch.cat([torch.zeros(HIDDEN, HIDDEN), torch.eye(HIDDEN)], 1)
    return weights


def with_biases(weights, prefix, random):
    """Add the biases that a Qwen2 attention has on q, k and v."""
    for name in ("q_proj", "k_proj", "v_proj"):
        rows = weights[f"{prefix}self_attn.{name}.weight"].shape[0]
        weights[f"{prefix}self_attn.{name}.bias"] = 0.2 * random(rows)
    return weights


def eagle_weights(random, draft=DRAFT):
    """EAGLE draft for the same target: its ``fc`` passes the token on and drops the target's hidden state."""
    import torch

    weights = block(random, "layers.0.", *draft, norms=("post_attention_layernorm",))
    weights["fc.weight"] = torch.cat([torch.eye(HIDDEN), torch.zeros(HIDDEN, HIDDEN)], 1)
    weights["fc.bias"] = torch.zeros(HIDDEN)
    return weights


def save_tokenizer(folder):
    """A byte-level tokenizer of VOCAB entries, so that the server can read and write text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {char: i for i, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocab |= {f"<x{i}>": i for i in range(len(vocab), VOCAB - 2)} | {"<bos>": VOCAB - 2, "<eos>": VOCAB - 1}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>").save_pretrained(
        folder
    )


def save(folder, config, weights):
    """Write one checkpoint in the layout of Hugging Face."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | config, indent=1))
    save_tokenizer(folder)


def make(root):
    """Make both models under ``root`` unless this file has already made them; return {name: folder}."""
    import torch

    root = Path(root)
    stamp, digest = root / "made-by", hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        generator = torch.Generator().manual_seed(7)

        def random(*shape):
            return torch.randn(*shape, generator=generator)

        mimo = {"model_type": "qwen2", "architectures": ["MiMoForCausalLM"], "num_nextn_predict_layers": 1}
        save(root / TARGET, mimo, target_weights(random))
        eagle = {"model_type": "llama", "architectures": ["LlamaForCausalLMEagle"], "num_hidden_layers": 1}
        save(root / EAGLE, eagle, eagle_weights(random))
        stamp.write_text(digest)
    return {name: root / name for name in (TARGET, EAGLE)}


if __name__ == "__main__":
    for name, folder in make(sys.argv[1]).items():
        print(name, folder)
