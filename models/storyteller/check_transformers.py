"""Compares our network with transformers' Qwen3ForCausalLM on the same weights.

    python check_transformers.py storyteller-f32.gguf

Fails unless the logits of a full window agree to float32 rounding.
"""

import sys
from pathlib import Path

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from gguf_model import load_gguf

HF_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}

OUTER_NAMES = {"token_embd.weight": "embed_tokens.weight", "output_norm.weight": "norm.weight"}


def hf_name(name: str) -> str:
    if not name.startswith("blk."):
        return OUTER_NAMES[name]
    _, layer, part, kind = name.split(".")
    return f"layers.{layer}.{HF_NAMES[part]}.{kind}"


def as_transformers(model) -> Qwen3ForCausalLM:
    c = model.config
    reference = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=c.vocab,
            hidden_size=c.width,
            intermediate_size=c.ff,
            num_hidden_layers=c.layers,
            num_attention_heads=c.heads,
            num_key_value_heads=c.kv_heads,
            head_dim=c.head_dim,
            max_position_embeddings=c.context,
            rms_norm_eps=c.eps,
            rope_theta=c.rope_base,
            tie_word_embeddings=True,
        )
    )
    weights = {hf_name(name): weight for name, weight in model.state_dict().items()}
    reference.model.load_state_dict(weights)
    return reference.float().eval()


@torch.no_grad()
def main():
    model, _ = load_gguf(Path(sys.argv[1]))
    reference = as_transformers(model)
    torch.manual_seed(0)
    tokens = torch.randint(model.config.vocab, (1, model.config.context))
    ours, theirs = model(tokens), reference(tokens).logits
    error = ((ours - theirs).norm() / theirs.norm()).item()
    same = (ours.argmax(-1) == theirs.argmax(-1)).float().mean().item()
    largest = (ours - theirs).abs().max().item()
    print(f"relative error {error:.2e}, largest {largest:.2e}, same choice {same:.4f}")
    sys.exit(0 if error < 1e-5 else 1)


if __name__ == "__main__":
    main()
