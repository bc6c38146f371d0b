"""Writes quantize.gguf: f32 values and the blocks that the gguf package makes of them.

    pip install gguf==0.19.0 numpy==2.4.6 && python3 make_quantize_golden.py

Tensor `input` holds the values, 32 to a block, and `TYPE` the stored form.
"""
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

TYPES = [Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]


def main():
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
    data = np.array(rows, dtype=np.float32)

    writer = gguf.GGUFWriter(pathlib.Path(__file__).parent / "quantize.gguf", "golden")
    writer.add_tensor("input", data.ravel())
    for kind in TYPES:
        blocks = gguf.quants.quantize(data, kind)
        writer.add_tensor(kind.name, blocks.view(np.uint8).ravel(), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
