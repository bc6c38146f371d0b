#!/usr/bin/env python3
"""Logits of the tiny random models from Hugging Face transformers, in double precision.

    random-model tiny-qwen2 q4_K DIR/tiny-qwen2.q4_K.gguf     (for every shape and type)
    python3 make_tiny_logits.py DIR OUT

Reads each file with the `gguf` package (an independent reader and dequantiser), runs transformers'
own Qwen2 or Qwen3 on the dequantised weights, and writes OUT/tiny_logits.json (what was run) and
OUT/tiny_logits.bin (the rows of logits, f32, in the order of the JSON).
"""
import json
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers

TOKENS = [(i * 37 + 11) % 250 for i in range(24)]
ROWS = [0, 11, 23]  # positions whose logits are kept
NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def hf_name(name: str) -> str:
    stem, kind = name.rsplit(".", 1)
    if stem.startswith("blk."):
        _, layer, part = stem.split(".")
        return f"model.layers.{layer}.{NAMES[part]}.{kind}"
    return f"{NAMES[stem]}.{kind}"


def load(path: Path):
    reader = gguf.GGUFReader(path)
    field = lambda key: reader.fields[key].contents()
    arch = field("general.architecture")
    get = lambda key: field(f"{arch}.{key}")
    weights = {hf_name(t.name): torch.from_numpy(
        np.array(gguf.quants.dequantize(t.data, t.tensor_type), dtype=np.float32).reshape(
            tuple(int(d) for d in reversed(t.shape)))) for t in reader.tensors}
    tied = "lm_head.weight" not in weights
    settings = dict(
        hidden_size=get("embedding_length"), intermediate_size=get("feed_forward_length"),
        num_hidden_layers=get("block_count"), num_attention_heads=get("attention.head_count"),
        num_key_value_heads=get("attention.head_count_kv"),
        rms_norm_eps=get("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": get("rope.freq_base")},
        max_position_embeddings=get("context_length"),
        vocab_size=weights["model.embed_tokens.weight"].shape[0], tie_word_embeddings=tied,
        attn_implementation="eager")
    if arch == "qwen2":
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**settings))
    else:
        model = transformers.Qwen3ForCausalLM(
            transformers.Qwen3Config(head_dim=get("attention.key_length"), **settings))
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and set(missing) <= ({"lm_head.weight"} if tied else set()), (missing, unexpected)
    model.tie_weights()
    return model.double().eval()


def check_sum(path: Path) -> int:
    """Sum over the file's little-endian 64-bit words, each times its 1-based index, modulo 2^64."""
    data = path.read_bytes()
    data += bytes(-len(data) % 8)
    words = np.frombuffer(data, dtype="<u8")
    with np.errstate(over="ignore"):
        return int((words * np.arange(1, len(words) + 1, dtype=np.uint64)).sum(dtype=np.uint64))


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    entries, rows = [], []
    for path in sorted(folder.glob("tiny-*.gguf")):
        shape, dtype, _ = path.name.split(".")
        with torch.no_grad():
            logits = load(path)(torch.tensor([TOKENS])).logits[0]
        entries.append({"shape": shape, "type": dtype, "check_sum": f"{check_sum(path):016x}"})
        rows.append(logits[ROWS].numpy().astype("<f4"))
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    (out / "tiny_logits.json").write_text(json.dumps(
        {"made_with": versions, "tokens": TOKENS, "rows": ROWS, "models": entries}, indent=1) + "\n")
    (out / "tiny_logits.bin").write_bytes(np.concatenate(rows).tobytes())
    print(f"{len(entries)} models; {versions}")


if __name__ == "__main__":
    main()
