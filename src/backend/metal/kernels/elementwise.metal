// Element by element, four to a thread: sums, products and the activation of the feed-forward.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "elementwise.h"
#include "packed.h"
using namespace metal;

struct Add {
    template <typename T>
    static T of(T a, T b) {
        return a + b;
    }
};

struct Mul {
    template <typename T>
    static T of(T a, T b) {
        return a * b;
    }
};

// exp overflows to infinity below about -88, where the quotient is the zero it should be.
template <typename T>
static T silu(T x) {
    return x / (1.0f + precise::exp(-x));
}

struct SwiGlu {
    template <typename T>
    static T of(T gate, T up) {
        return silu(gate) * up;
    }
};

template <typename F>
kernel void binary(device const float* a [[buffer(0)]],
                   device const float* b [[buffer(1)]],
                   device float* out [[buffer(2)]],
                   constant ElementwiseArgs& args [[buffer(3)]],
                   uint thread_index [[thread_position_in_grid]]) {
    const uint first = thread_index * 4;
    if (first + 4 <= args.count) {
        store4(out + first, F::of(load4(a + first), load4(b + first)));
        return;
    }
    for (uint i = first; i < args.count; ++i) out[i] = F::of(a[i], b[i]);
}

kernel void silu_f32(device const float* x [[buffer(0)]],
                     device float* out [[buffer(1)]],
                     constant ElementwiseArgs& args [[buffer(2)]],
                     uint thread_index [[thread_position_in_grid]]) {
    const uint first = thread_index * 4;
    if (first + 4 <= args.count) {
        store4(out + first, silu(load4(x + first)));
        return;
    }
    for (uint i = first; i < args.count; ++i) out[i] = silu(x[i]);
}

template [[host_name("add_f32")]] kernel void binary<Add>(device const float*, device const float*, device float*, constant ElementwiseArgs&, uint);
template [[host_name("mul_f32")]] kernel void binary<Mul>(device const float*, device const float*, device float*, constant ElementwiseArgs&, uint);
template [[host_name("swiglu_f32")]] kernel void binary<SwiGlu>(device const float*, device const float*, device float*, constant ElementwiseArgs&, uint);
