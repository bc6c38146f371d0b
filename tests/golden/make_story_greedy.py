#!/usr/bin/env python3
"""Writes story_greedy.json: the first tokens with which llama.cpp continues a prompt, greedily, from the
bundled model. Needs the PyPI package `llama-cpp-python`, which builds llama.cpp.

    python3 make_story_greedy.py

f32 KV cache, no flash attention, on the CPU. A step whose two best logits were close would pin a
rounding, not a model: the script refuses a prompt that has one.
"""
import json
from pathlib import Path

import llama_cpp

FOLDER = Path(__file__).resolve().parent
MODEL = FOLDER.parent.parent / "models/storyteller/storyteller-q8_0.gguf"
PROMPT = "Once upon a time there was a little red hen who"
N_TOKENS = 9
CLEAR_LEAD = 0.2


def main() -> None:
    llm = llama_cpp.Llama(str(MODEL), n_ctx=512, n_threads=2, flash_attn=False, type_k=0, type_v=0,
                          logits_all=True, verbose=False)
    llm.eval(llm.tokenize(PROMPT.encode(), add_bos=False, special=True))
    tokens = []
    while len(tokens) < N_TOKENS:
        logits = llm.scores[llm.n_tokens - 1].copy()
        token = int(logits.argmax())
        logits.partition(len(logits) - 2)  # the two largest last
        lead = float(logits[-1] - logits[-2])
        if lead < CLEAR_LEAD:
            raise SystemExit(f"step {len(tokens)}: the best logit leads by {lead:.4f} only; take another prompt")
        tokens.append(token)
        llm.eval([token])
    golden = {"model": MODEL.name, "llama_cpp_python": llama_cpp.__version__, "prompt": PROMPT, "tokens": tokens}
    (FOLDER / "story_greedy.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
