"""Reads one of our GGUF files back into the PyTorch network and its tokenizer."""

from pathlib import Path

import gguf
import numpy as np
import torch

from model import Config, Storyteller
from tokenizer import make_tokenizer


def load_gguf(path: Path):
    reader = gguf.GGUFReader(path)

    def value(key: str):
        return reader.fields[key].contents()

    tokens = value("tokenizer.ggml.tokens")
    config = Config(
        vocab=len(tokens),
        layers=value("qwen3.block_count"),
        width=value("qwen3.embedding_length"),
        heads=value("qwen3.attention.head_count"),
        kv_heads=value("qwen3.attention.head_count_kv"),
        head_dim=value("qwen3.attention.key_length"),
        ff=value("qwen3.feed_forward_length"),
        context=value("qwen3.context_length"),
        rope_base=value("qwen3.rope.freq_base"),
        eps=value("qwen3.attention.layer_norm_rms_epsilon"),
    )
    weights = {
        t.name: torch.from_numpy(gguf.dequantize(t.data, t.tensor_type).astype(np.float32))
        for t in reader.tensors
    }
    model = Storyteller(config)
    model.load_state_dict(weights)
    merges = [tuple(merge.split(" ")) for merge in value("tokenizer.ggml.merges")]
    tokenizer = make_tokenizer({token: i for i, token in enumerate(tokens)}, merges)
    return model.eval(), tokenizer
