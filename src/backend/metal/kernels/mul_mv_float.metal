// Matrix times vector for weights of F32, F16 and BF16. What is stored is widened exactly and then
// treated alike, so the three agree to the last bit on the same values.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "mul_mv_kernel.h"
using namespace metal;

struct Floats8 {
    float4 low, high;
};

struct F32 {
    static constant constexpr uint kValueBytes = 4;
    static Floats8 load(device const uchar* p) {
        return {as_type<float4>(load_uint4(p)), as_type<float4>(load_uint4(p + 16))};
    }
    static float load_one(device const uchar* p) { return *reinterpret_cast<device const float*>(p); }
};

struct F16 {
    static constant constexpr uint kValueBytes = 2;
    static Floats8 load(device const uchar* p) {
        const uint4 v = load_uint4(p);
        return {float4(as_type<half4>(v.xy)), float4(as_type<half4>(v.zw))};
    }
    static float load_one(device const uchar* p) {
        return float(*reinterpret_cast<device const half*>(p));
    }
};

// The upper half of the float.
struct BF16 {
    static constant constexpr uint kValueBytes = 2;
    static Floats8 load(device const uchar* p) {
        const uint4 v = load_uint4(p);
        const uint4 even = v << 16, odd = v & 0xffff0000u;
        return {as_type<float4>(uint4(even.x, odd.x, even.y, odd.y)),
                as_type<float4>(uint4(even.z, odd.z, even.w, odd.w))};
    }
    static float load_one(device const uchar* p) {
        return as_type<float>(uint(*reinterpret_cast<device const ushort*>(p)) << 16);
    }
};

// A lane has eight neighbouring weights.
template <typename T>
struct Float {
    static constant constexpr uint kBlock = 8, kBytes = 8 * T::kValueBytes, kLanes = 1;
    static constant constexpr bool kSplitsK = true;
    using Weights = Floats8;
    using Activations = Floats8;

    static float one(device const uchar* p, uint index, uint count) {
        return index < count ? T::load_one(p + index * T::kValueBytes) : 0.0f;
    }

    static Weights weights(device const uchar* p, uint, uint scalars) {
        if (scalars == 0) return T::load(p);
        return {float4(one(p, 0, scalars), one(p, 1, scalars), one(p, 2, scalars), one(p, 3, scalars)),
                float4(one(p, 4, scalars), one(p, 5, scalars), one(p, 6, scalars), one(p, 7, scalars))};
    }

    static Activations activations(device const float* x, uint, uint scalars) {
        return Float<F32>::weights(reinterpret_cast<device const uchar*>(x), 0, scalars);
    }

    static float4 dot(thread const Weights& w, thread const Activations& a, float4 sum) {
        return fma(w.high, a.high, fma(w.low, a.low, sum));
    }
};

MINFER_MUL_MV("f32", Float<F32>, kMulMvRowsFloat)
MINFER_MUL_MV("f16", Float<F16>, kMulMvRowsFloat)
MINFER_MUL_MV("bf16", Float<BF16>, kMulMvRowsFloat)
