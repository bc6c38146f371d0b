"""Held-out loss and perplexity of GGUF files, computed on their dequantised weights.

    python evaluate.py --corpus corpus.txt.xz storyteller-f32.gguf storyteller-q8_0.gguf

The held-out documents form one stream, cut into windows of the context length; every token but
the first of a window is predicted.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import data


@torch.no_grad()
def stream_loss(model, stream: np.ndarray) -> tuple[float, int]:
    """Mean loss in nats, and the number of predicted tokens."""
    device = next(model.parameters()).device
    tokens = torch.from_numpy(stream).to(device)
    total, count = 0.0, 0
    for window in tokens.split(model.config.context):
        if len(window) < 2:
            continue
        logits = model(window[None, :-1])[0].float()
        total += F.cross_entropy(logits, window[1:], reduction="sum").item()
        count += len(window) - 1
    return total / count, count


def main():
    from gguf_model import load_gguf

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--corpus", type=Path, required=True)
    p.add_argument("models", type=Path, nargs="+")
    args = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    _, held_out = data.split(data.read_documents(args.corpus))
    parts = {"all": held_out, "plain": [text for text in held_out if data.is_plain(text)]}
    for path in args.models:
        model, tokenizer = load_gguf(path)
        model.to(device)
        for name, documents in parts.items():
            loss, count = stream_loss(model, np.concatenate(data.encode(tokenizer, documents)))
            size = sum(len(text.encode()) + 1 for text in documents)
            bits = loss * count / size / math.log(2)
            print(
                f"{path.name:24} {name:5} documents {len(documents)} tokens {count} "
                f"loss {loss:.4f} perplexity {math.exp(loss):.3f} bits/byte {bits:.4f}"
            )


if __name__ == "__main__":
    main()
