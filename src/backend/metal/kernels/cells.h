#pragma once
// The elements of one cell of the KV cache, for each way that cells lie in memory: a kernel over
// cells is a template over one of these. `element` counts from the start of the cell; where four
// are loaded it is a multiple of 4. `width` is the elements of a cell.

#include <metal_stdlib>
#include "packed.h"

struct F32Cell {
    static metal::float4 load(device const uchar* cell, uint element, uint) {
        return load4(reinterpret_cast<device const float*>(cell) + element);
    }
    static void store(device uchar* cell, uint element, metal::float4 values) {
        store4(reinterpret_cast<device float*>(cell) + element, values);
    }
    static void store(device uchar* cell, uint element, float value) {
        reinterpret_cast<device float*>(cell)[element] = value;
    }
};

struct F16Cell {
    static metal::float4 load(device const uchar* cell, uint element, uint) {
        return metal::float4(metal::half4(
            *reinterpret_cast<device const metal::packed_half4*>(cell + ulong(element) * 2)));
    }
    static void store(device uchar* cell, uint element, metal::float4 values) {
        *reinterpret_cast<device metal::packed_half4*>(cell + ulong(element) * 2) =
            metal::packed_half4(metal::half4(values));
    }
    static void store(device uchar* cell, uint element, float value) {
        reinterpret_cast<device half*>(cell)[element] = half(value);
    }
};

// Blocks of an f16 scale and 32 int8: odd blocks begin at 2 mod 4.
struct Q8_0Cell {
    static metal::float4 load(device const uchar* cell, uint element, uint) {
        device const uchar* block = cell + ulong(element / 32) * 34;
        const float scale = *reinterpret_cast<device const half*>(block);
        return scale *
               metal::float4(metal::char4(
                   *reinterpret_cast<device const metal::packed_char4*>(block + 2 + element % 32)));
    }
    static device char* quant(device uchar* cell, uint element) {
        return reinterpret_cast<device char*>(cell + ulong(element / 32) * 34 + 2 + element % 32);
    }
    static device ushort* scale(device uchar* cell, uint block, uint) {
        return reinterpret_cast<device ushort*>(cell + ulong(block) * 34);
    }
};

// The same bytes, all int8 first and then the scales.
struct Q8_0SplitCell {
    static metal::float4 load(device const uchar* cell, uint element, uint width) {
        const float scale = reinterpret_cast<device const half*>(cell + width)[element / 32];
        return scale * metal::float4(*reinterpret_cast<device const metal::char4*>(cell + element));
    }
    static device char* quant(device uchar* cell, uint element) {
        return reinterpret_cast<device char*>(cell + element);
    }
    static device ushort* scale(device uchar* cell, uint block, uint width) {
        return reinterpret_cast<device ushort*>(cell + width) + block;
    }
};

// The cells of one region.
template <typename Type>
struct Cells {
    device const uchar* region;
    uint cell_bytes;
    uint width;

    metal::float4 load(uint cell, uint element) const {
        return Type::load(region + ulong(cell) * cell_bytes, element, width);
    }
};
