"""Writes quantize.gguf: f32 values and the blocks that others make of them.

    pip install gguf==0.19.0 numpy==2.4.6
    npm pack @node-llama-cpp/linux-x64@3.22.1 && tar xzf node-llama-cpp-linux-x64-3.22.1.tgz
    python3 make_quantize_golden.py package/bins/linux-x64/libggml-base.so

Tensor `input` holds the values, `TYPE` the stored form. F16, BF16 and the 32-wide types come from
the gguf package, and ggml must agree with it; the 256-wide types come from ggml's reference
quantisers (built without fused multiply-add, as ours are).
"""
import ctypes
import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

PACKAGE_TYPES = [Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]
GGML_NAMES = {Type.Q4_0: "q4_0", Type.Q4_1: "q4_1", Type.Q5_0: "q5_0", Type.Q5_1: "q5_1",
              Type.Q8_0: "q8_0", Type.Q4_K: "q4_K", Type.Q5_K: "q5_K", Type.Q6_K: "q6_K",
              Type.Q8_K: "q8_K"}


def make_input():
    rng = np.random.default_rng(20240608)
    rows = [rng.normal(scale=scale, size=32) for scale in np.logspace(-9, 3, 40)]
    rows += [rng.uniform(low, low + 3, 32) for low in (-10, -3, -1, 0.5, 7)]
    rows += [rng.integers(-16, 17, 32) + 0.5 for _ in range(6)]  # ties
    rows += [np.zeros(32), np.full(32, 3.25), np.full(32, -1.5), np.full(32, 1e-30)]
    spike = rng.normal(scale=1e-3, size=32)
    spike[17] = -900
    two_peaks = rng.normal(size=32)
    two_peaks[[3, 20]] = 8, -8  # the first of equal magnitudes decides the sign
    rows += [spike, two_peaks, -two_peaks]
    rows += [rng.normal(scale=0.02, size=32) for _ in range(6)]  # like weights
    return np.array(rows, dtype=np.float32).reshape(8, 256)


def ggml_blocks(library, kind, data):
    values, size = gguf.GGML_QUANT_SIZES[kind]
    out = np.zeros(data.size // values * size, np.uint8)
    function = getattr(library, f"quantize_row_{GGML_NAMES[kind]}_ref")
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    function(data.ctypes.data, out.ctypes.data, data.size)
    return out


def main():
    library = ctypes.CDLL(sys.argv[1])
    data = make_input()
    writer = gguf.GGUFWriter(pathlib.Path(__file__).parent / "quantize.gguf", "golden")
    writer.add_tensor("input", data.ravel())
    for kind in PACKAGE_TYPES:
        blocks = gguf.quants.quantize(data, kind).view(np.uint8).ravel()
        assert kind not in GGML_NAMES or (blocks == ggml_blocks(library, kind, data)).all(), kind
        writer.add_tensor(kind.name, blocks, raw_dtype=kind)
    for kind in (Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.Q8_K):
        writer.add_tensor(kind.name, ggml_blocks(library, kind, data), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
