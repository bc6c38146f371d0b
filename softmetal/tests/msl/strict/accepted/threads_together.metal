#include <metal_stdlib>
using namespace metal;

// SIMD groups, quads, barriers, atomics and matrices.
template <typename T, short N>
T reduce(T x, threadgroup T* scratch, ushort lane, ushort group) {
    for (ushort offset = 16; offset > 0; offset >>= 1) x += simd_shuffle_down(x, offset);
    if (lane == 0) scratch[group] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(scratch[lane]);
}
kernel void k(device float* out [[buffer(0)]], device atomic_uint* counter [[buffer(1)]],
              device atomic<float>& total [[buffer(2)]], device const half* a [[buffer(3)]],
              constant uint3& size [[buffer(4)]], uint3 gid [[threadgroup_position_in_grid]],
              ushort lane [[thread_index_in_simdgroup]], ushort group [[simdgroup_index_in_threadgroup]],
              ushort3 tid [[thread_position_in_threadgroup]]) {
    threadgroup float scratch[32];
    threadgroup half tile_a[8 * 8], tile_b[8][8];
    threadgroup atomic_int votes;
    threadgroup float4 one;
    if (tid.x == 0) {
        atomic_store_explicit(&votes, 0, memory_order_relaxed);
        one = float4(1);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    float x = reduce<float, 32>(out[gid.x], scratch, lane, group);
    x = max(x, simd_max(x)) + simd_prefix_exclusive_sum(x) + quad_sum(x) + one.x;
    uint mask = uint(uint64_t(simd_ballot(x > 0)));
    if (simd_any(x > 1) && simd_is_first()) atomic_fetch_add_explicit(counter, popcount(mask), memory_order_relaxed);
    atomic_fetch_max_explicit(&votes, int(lane), memory_order_relaxed);
    atomic_fetch_add_explicit(&total, x, memory_order_relaxed);
    uint expected = 0;
    while (!atomic_compare_exchange_weak_explicit(&counter[1], &expected, expected + 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    tile_a[lane] = a[lane];
    tile_b[lane / 8][lane % 8] = a[lane];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 ma, mb;
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.f);
    simdgroup_load(ma, tile_a, 8);
    simdgroup_load(mb, a, size.x, ulong2(8, 0), true);
    simdgroup_multiply_accumulate(sum, ma, mb, sum);
    simdgroup_multiply(ma, ma, mb);
    sum.thread_elements()[0] += 1;
    float2 mine = sum.thread_elements();
    simdgroup_store(sum, out + 64, 8);
    out[0] = x + mine.x + atomic_load_explicit(&votes, memory_order_relaxed);
    out[1] = simd_broadcast(x, 3) + simd_shuffle_xor(float4(x), 1).y + simd_shuffle(half(x), lane);
}
