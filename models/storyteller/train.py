"""Trains the story model and leaves model.safetensors, tokenizer.json and config.json behind.

    python train.py --corpus corpus.txt.xz --out run

The defaults are those of the published model. The corpus is small (about six million tokens) next
to the network, so it is read many times; strong dropout and weight decay keep the network from
learning it by heart.
"""

import argparse
import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from data import Windows, encode, is_plain, read_documents, split
from evaluate import stream_loss
from model import Config, Storyteller, count_parameters
from tokenizer import train_tokenizer


def parse_arguments():
    shape = Config()
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--corpus", type=Path, required=True, help="text or .xz, one mark per document")
    p.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--vocab", type=int, default=shape.vocab)
    p.add_argument("--layers", type=int, default=shape.layers)
    p.add_argument("--width", type=int, default=shape.width)
    p.add_argument("--heads", type=int, default=shape.heads)
    p.add_argument("--kv-heads", type=int, default=shape.kv_heads)
    p.add_argument("--ff", type=int, default=shape.ff)
    p.add_argument("--epochs", type=int, default=38)
    p.add_argument("--batch", type=int, default=16, help="windows per step")
    p.add_argument("--rate", type=float, default=3e-3, help="peak learning rate")
    p.add_argument("--weight-decay", type=float, default=1.5)
    p.add_argument("--dropout", type=float, default=0.2)
    p.add_argument("--plain-copies", type=int, default=3, help="readings of plain stories an epoch")
    p.add_argument("--max-steps", type=int, default=0, help="stop early, to try the script out")
    return p.parse_args()


def make_optimizer(model, rate: float, weight_decay: float):
    """Norm weights are scales, not directions: decaying them to zero would only hurt."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    scales = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": scales, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=True)


def rate_factor(step: int, steps: int, warm_up: int = 200) -> float:
    """Linear warm-up, then half a cosine down to nothing."""
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(1, steps - warm_up)))


def window_loss(model, tokens):
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


def train(model, windows: Windows, held_out: dict[str, np.ndarray], args, log):
    device = next(model.parameters()).device
    optimizer = make_optimizer(model, args.rate, args.weight_decay)
    compiled_loss = torch.compile(window_loss)
    offsets = torch.arange(model.config.context + 1, device=device)
    first = windows.epoch()
    steps = args.epochs * (len(first[1]) // args.batch)  # epochs differ by a window at most
    step, began = 0, time.time()
    for epoch in range(args.epochs):
        stream, starts = first if epoch == 0 else windows.epoch()
        stream = torch.from_numpy(stream).to(device)
        starts = torch.from_numpy(starts).to(device)
        total = torch.zeros((), device=device)
        batches = len(starts) // args.batch
        for batch in range(batches):
            for group in optimizer.param_groups:
                group["lr"] = args.rate * rate_factor(step, steps)
            at = starts[batch * args.batch : (batch + 1) * args.batch]
            tokens = stream[at[:, None] + offsets]
            with torch.autocast("cuda", torch.bfloat16):
                loss = compiled_loss(model, tokens)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            total += loss.detach()
            step += 1
            if step == args.max_steps:
                break
        model.eval()
        losses = {name: stream_loss(model, part)[0] for name, part in held_out.items()}
        model.train()
        log(epoch=epoch + 1, step=step, train=total.item() / (batch + 1), **losses,
            seconds=round(time.time() - began, 1))  # fmt: skip
        save_file(model.state_dict(), args.out / "model.safetensors")
        if step == args.max_steps:
            return


def main():
    args = parse_arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")

    training, held_out = split(read_documents(args.corpus))
    tokenizer = train_tokenizer(training, args.vocab)
    tokenizer.save(str(args.out / "tokenizer.json"))
    config = Config(vocab=args.vocab, layers=args.layers, width=args.width, heads=args.heads,
                    kv_heads=args.kv_heads, ff=args.ff)  # fmt: skip
    (args.out / "config.json").write_text(json.dumps(asdict(config), indent=1) + "\n")

    copies = [args.plain_copies if is_plain(text) else 1 for text in training]
    windows = Windows(encode(tokenizer, training), copies, config.context, args.seed)
    model = Storyteller(config, args.dropout)
    model.init_weights()
    model.cuda()

    with open(args.out / "log.jsonl", "w") as file:

        def log(**fields):
            line = json.dumps(fields)
            print(line, flush=True)
            print(line, file=file, flush=True)

        log(parameters=count_parameters(model), documents=len(training),
            held_out_documents=len(held_out), plain=sum(c > 1 for c in copies),
            tokens=sum(map(len, windows.documents)),
            **{k: str(v) for k, v in vars(args).items()})  # fmt: skip
        streams = {
            "held_out": np.concatenate(encode(tokenizer, held_out)),
            "held_out_plain": np.concatenate(encode(tokenizer, list(filter(is_plain, held_out)))),
        }
        train(model, windows, streams, args, log)


if __name__ == "__main__":
    main()
