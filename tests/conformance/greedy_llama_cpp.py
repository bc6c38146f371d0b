#!/usr/bin/env python3
"""Greedy continuations of the bundled model, minfer against llama.cpp.

    python3 greedy_llama_cpp.py MINFER MODEL

Needs the PyPI packages `llama-cpp-python` (which builds llama.cpp) and `gguf`; without them it says
what was left out and succeeds: llama.cpp is an external oracle, not a dependency. The bundled Q8_0
file is rewritten as F32 and as F16, and both programs continue 20 prompts by 64 tokens with an f32
KV cache, no flash attention and no penalties. F32 must give the same tokens; F16 the same until a
step whose two best logits lie less than 0.01 apart (F16 activations round in llama.cpp, not here).
"""
import subprocess
import sys
import tempfile
from pathlib import Path

N_TOKENS = 64
NEAR_TIE = 0.01
PROMPTS = [
    "Once upon a time", "One day a little girl named Lucy", "The old king had three sons",
    "In the deep dark forest there lived", "Tom and his dog ran", "\"Where are you going?\" asked the fox",
    "It was a cold winter night and", "The princess looked out of the window", "A small red bird sat",
    "Far away by the sea", "The children were playing in the garden when", "Mother said that",
    "There was once a poor woodcutter who", "The rabbit was very hungry", "When the sun came up",
    "Long ago, before your grandmother was born,", "Uncle Wiggily was hopping along", "The giant laughed and",
    "Bunny Brown and his sister Sue", "He opened the box and found",
]


def rewrite(gguf, source: Path, target: Path, dtype) -> None:
    """The same model with every quantised matrix stored as `dtype`."""
    reader = gguf.GGUFReader(source)
    arch = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, arch)
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        kinds = field.types
        if kinds[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(key, field.contents())
        else:
            writer.add_key_value(key, field.contents(), kinds[0])
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        wanted = dtype if len(tensor.shape) > 1 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(tensor.name, gguf.quants.quantize(values, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def ours(minfer: str, model: Path, prompt: str) -> str:
    return subprocess.run(
        [minfer, "run", str(model), prompt, "-n", str(N_TOKENS), "--temp", "0", "--repeat-penalty", "1",
         "-c", "512", "--no-perf"], check=True, capture_output=True).stdout.decode()


class Reference:
    def __init__(self, llama_cpp, model: Path):
        self.llm = llama_cpp.Llama(str(model), n_ctx=512, n_threads=2, flash_attn=False, type_k=0, type_v=0,
                                   logits_all=True, verbose=False)
        self.end = self.llm.token_eos()

    def tokens(self, text: str) -> list[int]:
        return self.llm.tokenize(text.encode(), add_bos=False, special=True)

    def greedy(self, prompt: str):
        """Generated ids and, for each, how far the best logit led."""
        self.llm.reset()
        self.llm.eval(self.tokens(prompt))
        ids, leads = [], []
        while len(ids) < N_TOKENS:
            logits = self.llm.scores[self.llm.n_tokens - 1].copy()
            token = int(logits.argmax())
            logits.partition(len(logits) - 2)  # the two largest last
            leads.append(float(logits[-1] - logits[-2]))
            if token == self.end:
                break
            ids.append(token)
            self.llm.eval([token])
        return ids, leads

    def text(self, ids: list[int]) -> str:
        return self.llm.detokenize(ids).decode(errors="replace")


def compare(minfer: str, reference: Reference, model: Path, exact: bool) -> list[str]:
    problems = []
    for prompt in PROMPTS:
        want, leads = reference.greedy(prompt)
        text = ours(minfer, model, prompt)
        if text == reference.text(want):
            continue
        got = reference.tokens(prompt + text)[len(reference.tokens(prompt)):]
        step = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        lead = leads[min(step, len(leads) - 1)]
        if exact or lead >= NEAR_TIE:
            problems.append(f"{prompt!r} parts at step {step}, where the best logit led by {lead:.4f}")
        else:
            print(f"{prompt!r} parts at step {step} on a near tie ({lead:.4f})")
    return problems


def main() -> int:
    minfer, model = sys.argv[1], Path(sys.argv[2])
    try:
        import gguf
        import llama_cpp
    except ImportError as missing:
        print(f"left out: comparison with llama.cpp ({missing})")
        return 0
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, exact in (("F32", True), ("F16", False)):
            path = Path(folder) / f"model-{kind}.gguf"
            rewrite(gguf, model, path, gguf.GGMLQuantizationType[kind])
            found = compare(minfer, Reference(llama_cpp, path), path, exact)
            print(f"{kind}: {len(PROMPTS) - len(found)} of {len(PROMPTS)} prompts agree with llama.cpp "
                  f"(llama-cpp-python {llama_cpp.__version__})")
            problems += [f"{kind}: {line}" for line in found]
    for line in problems:
        print(f"error: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
