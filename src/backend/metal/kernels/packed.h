#pragma once
// Sixteen bytes at a time where nothing promises more than four bytes of alignment.

#include <metal_stdlib>

static inline metal::float4 load4(device const float* from) {
    return metal::float4(*reinterpret_cast<device const metal::packed_float4*>(from));
}

static inline metal::uint4 load_uint4(device const uchar* from) {
    return metal::uint4(*reinterpret_cast<device const metal::packed_uint4*>(from));
}

static inline void store4(device float* to, metal::float4 value) {
    *reinterpret_cast<device metal::packed_float4*>(to) = metal::packed_float4(value);
}

static inline void store_uint4(device uchar* to, metal::uint4 value) {
    *reinterpret_cast<device metal::packed_uint4*>(to) = metal::packed_uint4(value);
}

// In an order of its own, so that every kernel that adds four partial sums has the same bits.
static inline float sum4(metal::float4 v) { return (v.x + v.y) + (v.z + v.w); }
