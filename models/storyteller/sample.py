"""Writes stories with a GGUF file through PyTorch: a slow, simple reference.

    python sample.py storyteller-q8_0.gguf --seed 1 --prompt "Once upon a time"

An empty prompt starts from the end-of-text mark, which is what comes before a document.
"""

import argparse
from pathlib import Path

import torch

from gguf_model import load_gguf
from tokenizer import END_OF_TEXT


def choose(logits, temperature: float, top_k: int, top_p: float, generator) -> int:
    """One token from the top_k best, of those the fewest that hold top_p of the probability."""
    best, ids = logits.topk(top_k)
    # The mass that is cut off is judged before temperature, as in llama.cpp's default order.
    mass = best.softmax(-1).cumsum(-1)
    keep = int((mass < top_p).sum()) + 1
    weights = (best[:keep] / temperature).softmax(-1)
    return ids[torch.multinomial(weights, 1, generator=generator)].item()


@torch.no_grad()
def write_story(model, tokenizer, prompt: str, seed: int, limit: int, device: str) -> str:
    end = tokenizer.token_to_id(END_OF_TEXT)
    tokens = tokenizer.encode(prompt).ids or [end]
    generator = torch.Generator().manual_seed(seed)
    while len(tokens) < limit:
        logits = model(torch.tensor([tokens], device=device))[0, -1].float().cpu()
        token = choose(logits, 0.8, 40, 0.95, generator)
        if token == end:
            break
        tokens.append(token)
    return tokenizer.decode(tokens)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("model", type=Path)
    p.add_argument("--prompt", action="append", help="may be given more than once")
    p.add_argument("--seed", type=int, action="append")
    p.add_argument("--limit", type=int, default=400, help="tokens, the prompt counted in")
    args = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, tokenizer = load_gguf(args.model)
    model.to(device)
    for prompt in args.prompt or [""]:
        for seed in args.seed or [1]:
            story = write_story(model, tokenizer, prompt, seed, args.limit, device)
            print(f"--- prompt {prompt!r}, seed {seed}\n{story}\n", flush=True)


if __name__ == "__main__":
    main()
