#pragma once
// Four elements of one cell of the KV cache, for each way that cells lie in memory: a kernel over
// cells is a template over one of these and instantiated for all. `element` counts from the start
// of the cell and is a multiple of 4; `width` is the elements of a cell.

#include <metal_stdlib>
#include "packed.h"

struct F32Cell {
    static metal::float4 load(device const uchar* cell, uint element, uint) {
        return load4(reinterpret_cast<device const float*>(cell) + element);
    }
};

struct F16Cell {
    static metal::float4 load(device const uchar* cell, uint element, uint) {
        return metal::float4(metal::half4(
            *reinterpret_cast<device const metal::packed_half4*>(cell + ulong(element) * 2)));
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
};

// The same bytes, all int8 first and then the scales.
struct Q8_0SplitCell {
    static metal::float4 load(device const uchar* cell, uint element, uint width) {
        const float scale = reinterpret_cast<device const half*>(cell + width)[element / 32];
        return scale * metal::float4(*reinterpret_cast<device const metal::char4*>(cell + element));
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
