#!/usr/bin/env python3
"""Tokens per second of minfer and llama.cpp on the same file, threads and prompt, interleaved.

    python3 against_llama_cpp.py MINFER MODEL [ROUNDS]

Needs the PyPI package `llama-cpp-python`. Timings on a busy machine wander, so the two programs take
turns and the ratio of the medians is what counts. llama.cpp runs with its defaults for a CPU except
an f32 KV cache, as here.
"""
import json
import statistics
import subprocess
import sys
import time

import llama_cpp

N_PROMPT, N_GENERATE, THREADS = 256, 64, 2


class LlamaCpp:
    def __init__(self, model: str):
        self.llm = llama_cpp.Llama(model, n_ctx=512, n_batch=512, n_ubatch=512, n_threads=THREADS,
                                   n_threads_batch=THREADS, type_k=0, type_v=0, verbose=False)
        self.prompt = [100 + i % 100 for i in range(N_PROMPT)]

    def measure(self) -> dict[str, float]:
        self.llm.reset()
        start = time.perf_counter()
        self.llm.eval(self.prompt)
        prompt = time.perf_counter() - start
        self.llm.reset()
        self.llm.eval(self.prompt[:1])
        start = time.perf_counter()
        for i in range(N_GENERATE):
            self.llm.eval([100 + i])
        return {"prompt": N_PROMPT / prompt, "decode": N_GENERATE / (time.perf_counter() - start)}


def ours(minfer: str, model: str) -> dict[str, float]:
    out = subprocess.run([minfer, "bench", model, "-p", str(N_PROMPT), "-n", str(N_GENERATE), "-r", "1",
                          "-t", str(THREADS), "-o", "json"], check=True, capture_output=True).stdout
    rows = json.loads(out)
    return {"prompt" if row["n_prompt"] else "decode": row["avg_ts"] for row in rows}


def main() -> None:
    minfer, model = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    reference = LlamaCpp(model)
    reference.measure()  # warm-up
    a, b = [], []
    for _ in range(rounds):
        a.append(ours(minfer, model))
        b.append(reference.measure())
    for phase in ("prompt", "decode"):
        mine = statistics.median(r[phase] for r in a)
        theirs = statistics.median(r[phase] for r in b)
        print(f"{phase}: minfer {mine:.1f} tok/s, llama.cpp {theirs:.1f} tok/s, ratio {mine / theirs:.2f}")


if __name__ == "__main__":
    main()
