"""Writes a trained checkpoint as a GGUF file; the same checkpoint always gives the same bytes.

    python export_gguf.py --run run --type q8_0 --out storyteller-q8_0.gguf

Needs no PyTorch. Matrices take the chosen type, norm weights stay f32, as llama.cpp has it.
"""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

from tokenizer import END_OF_TEXT

# name: (matrix type, value of general.file_type)
TYPES = {
    "f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "q4_0": (gguf.GGMLQuantizationType.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0),
}


def add_metadata(writer: gguf.GGUFWriter, config: dict, file_type: int):
    writer.add_name("minfer storyteller")
    writer.add_license("mit")
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_block_count(config["layers"])
    writer.add_context_length(config["context"])
    writer.add_embedding_length(config["width"])
    writer.add_feed_forward_length(config["ff"])
    writer.add_head_count(config["heads"])
    writer.add_head_count_kv(config["kv_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["eps"])
    writer.add_rope_freq_base(config["rope_base"])


def add_vocabulary(writer: gguf.GGUFWriter, tokenizer: dict):
    vocab = tokenizer["model"]["vocab"]
    tokens = sorted(vocab, key=vocab.get)
    assert [vocab[token] for token in tokens] == list(range(len(tokens)))
    end = vocab[END_OF_TEXT]
    types = [gguf.TokenType.NORMAL] * len(tokens)
    types[end] = gguf.TokenType.CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    writer.add_pad_token_id(end)
    writer.add_add_bos_token(False)


def tensor_order(name: str) -> tuple:
    """Embedding, blocks by number, final norm: the order in which they are read."""
    if not name.startswith("blk."):
        return (0 if name.startswith("token_embd") else 2, 0, name)
    return (1, int(name.split(".")[1]), name)


def add_tensors(writer: gguf.GGUFWriter, weights: dict[str, np.ndarray], matrix_type):
    for name in sorted(weights, key=tensor_order):
        weight = weights[name].astype(np.float32)
        kind = matrix_type if weight.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quantize(weight, kind), raw_dtype=kind)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--run", type=Path, required=True, help="folder that train.py wrote")
    p.add_argument("--type", choices=TYPES, required=True)
    p.add_argument("--out", type=Path, required=True)
    args = p.parse_args()
    matrix_type, file_type = TYPES[args.type]
    writer = gguf.GGUFWriter(args.out, "qwen3")
    add_metadata(writer, json.loads((args.run / "config.json").read_text()), file_type)
    add_vocabulary(writer, json.loads((args.run / "tokenizer.json").read_text(encoding="utf-8")))
    add_tensors(writer, load_file(args.run / "model.safetensors"), matrix_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
