"""Writes dequant.gguf: for each block type we read, random blocks and what they stand for.

    pip install gguf==0.19.0 numpy==2.4.6 && python3 make_dequant_golden.py

Tensor `TYPE` holds the blocks, `TYPE.values` the f32 values that the gguf package makes of them
(Q8_K, which it does not read, by the formula d * q). Scales are finite halves of every kind:
normal, subnormal, zero, negative. The file also serves as one that another writer wrote.
"""
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

TYPES = [Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.Q2_K,
         Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.Q8_K, Type.IQ4_NL, Type.IQ4_XS]
# Byte offsets of the halves inside a block; they must be finite.
HALVES = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
          Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2],
          Type.Q6_K: [208], Type.IQ4_NL: [0], Type.IQ4_XS: [0]}


def random_halves(rng, count):
    bits = rng.integers(0, 0x7C00, count).astype(np.uint16)
    bits[2::4] &= 0x03FF  # subnormal
    bits[3::8] = 0
    return bits | (rng.integers(0, 2, count).astype(np.uint16) << 15)


def main():
    rng = np.random.default_rng(20240607)
    writer = gguf.GGUFWriter(pathlib.Path(__file__).parent / "dequant.gguf", "golden")
    for kind in TYPES:
        values, size = gguf.GGML_QUANT_SIZES[kind]
        n_blocks = max(4, 512 // values)
        if kind in (Type.F16, Type.BF16):
            blocks = random_halves(rng, n_blocks).view(np.uint8).reshape(1, -1)
        else:
            blocks = rng.integers(0, 256, (n_blocks, size)).astype(np.uint8)
            for offset in HALVES.get(kind, []):
                blocks[:, offset:offset + 2] = random_halves(rng, n_blocks).view(np.uint8).reshape(-1, 2)
            if kind == Type.Q8_K:
                blocks[:, :4] = rng.normal(size=n_blocks).astype(np.float32).view(np.uint8).reshape(-1, 4)
        if kind == Type.Q8_K:
            d = blocks[:, :4].copy().view(np.float32)
            expected = (d * blocks[:, 4:260].view(np.int8).astype(np.float32)).ravel()
        else:
            expected = gguf.quants.dequantize(blocks.reshape(1, -1), kind).ravel()
        assert expected.dtype == np.float32 and np.isfinite(expected).all()
        writer.add_tensor(kind.name, blocks.ravel(), raw_dtype=kind)
        writer.add_tensor(f"{kind.name}.values", expected)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
