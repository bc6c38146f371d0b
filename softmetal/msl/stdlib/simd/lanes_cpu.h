// How lanes of a SIMD group meet on a CPU: each hands its value to the executor and waits;
// whichever comes last works out the answer for all.
#pragma once

namespace metal::sm {

SM_FN unsigned lane_index() { return sm_current_thread()->index_in_threadgroup % SM_SIMD_WIDTH; }

template <class T>
SM_FN T lane_value(const sm_lanes* lanes, unsigned lane) {
    T value;
    __builtin_memcpy(&value, lanes->value + lane * sizeof(T), sizeof(T));
    return value;
}
template <class T>
SM_FN T lane_result(const sm_lanes* lanes, unsigned lane) {
    T value;
    __builtin_memcpy(&value, lanes->result + lane * sizeof(T), sizeof(T));
    return value;
}
template <class T>
SM_FN void put_result(sm_lanes* lanes, unsigned lane, T value) {
    __builtin_memcpy(lanes->result + lane * sizeof(T), &value, sizeof(T));
}

// ---- Movement. A lane that has returned gives zeros.

template <class T>
SM_FN T simd_read(T data, unsigned lane, sm_site site) {
    static_assert(sizeof(T) <= SM_MAX_LANE_BYTES);
    const sm_lanes* lanes = sm_simd_exchange(site, &data, sizeof(T), nullptr);
    return lane_value<T>(lanes, lane % SM_SIMD_WIDTH);
}
template <class T>
SM_FN T quad_read(T data, unsigned lane, sm_site site) {
    const sm_lanes* lanes = sm_quad_exchange(site, &data, sizeof(T), nullptr);
    return lane_value<T>(lanes, (lane_index() & ~3u) + (lane & 3u));
}
template <class T>
SM_FN T simd_read_first(T data, sm_site site) {
    const sm_lanes* lanes = sm_simd_exchange(site, &data, sizeof(T), nullptr);
    return lane_value<T>(lanes, __builtin_ctz(lanes->active));
}
template <class T>
SM_FN T quad_read_first(T data, sm_site site) {
    const sm_lanes* lanes = sm_quad_exchange(site, &data, sizeof(T), nullptr);
    return lane_value<T>(lanes, __builtin_ctz(lanes->active));
}

// The value that lane `lane` hands over: its data, or its filling where `take_filling` says so
// here.
template <class T>
struct data_and_filling {
    T data, filling;
};
template <class T>
SM_FN T simd_read_either(T data, T filling, unsigned lane, bool take_filling, sm_site site) {
    auto both = simd_read(data_and_filling<T>{data, filling}, lane, site);
    return take_filling ? both.filling : both.data;
}
template <class T>
SM_FN T quad_read_either(T data, T filling, unsigned lane, bool take_filling, sm_site site) {
    auto both = quad_read(data_and_filling<T>{data, filling}, lane, site);
    return take_filling ? both.filling : both.data;
}

// ---- Votes

inline SM_TRUSTED void combine_ballot(sm_lanes* lanes) {
    typedef bool Bits __attribute__((ext_vector_type(32)));
    ext<unsigned char, 32> votes;
    __builtin_memcpy(&votes, lanes->value, sizeof votes);
    unsigned mask = __builtin_bit_cast(unsigned, __builtin_convertvector(votes != 0, Bits));
    put_result<unsigned>(lanes, 0, mask & lanes->active);
}
// Bit i: lane i is active and says yes. `active` receives the active lanes.
SM_FN unsigned simd_ballot_bits(bool vote, unsigned& active, sm_site site) {
    unsigned char byte = vote;
    const sm_lanes* lanes = sm_simd_exchange(site, &byte, 1, combine_ballot);
    active = lanes->active;
    return lane_result<unsigned>(lanes, 0);
}
SM_FN unsigned quad_ballot_bits(bool vote, unsigned& active, sm_site site) {
    unsigned char byte = vote;
    const sm_lanes* lanes = sm_quad_exchange(site, &byte, 1, nullptr);
    unsigned base = lane_index() & ~3u;
    active = lanes->active >> base & 15u;
    unsigned bits = 0;
    for (unsigned i = 0; i < 4; i++) bits |= (lanes->value[base + i] != 0 ? 1u : 0u) << i;
    return bits & active;
}

// ---- Reductions: in the order of a butterfly, lane i with lane i ^ 16, then ^ 8 and so on.

template <class Op, class T>
inline SM_TRUSTED void combine_reduce(sm_lanes* lanes) {
    T v[SM_SIMD_WIDTH];
    __builtin_memcpy(v, lanes->value, sizeof v);
    if (lanes->active != ~0u) {
        for (unsigned i = 0; i < SM_SIMD_WIDTH; i++) {
            if (!(lanes->active >> i & 1u)) v[i] = Op::template identity<T>();
        }
    }
#pragma clang loop unroll(full)
    for (unsigned half_width = SM_SIMD_WIDTH / 2; half_width > 0; half_width /= 2) {
        for (unsigned i = 0; i < half_width; i++) v[i] = Op::apply(v[i], v[i + half_width]);
    }
    put_result<T>(lanes, 0, v[0]);
}
template <class Op, class T>
SM_FN T simd_reduce(T data, sm_site site) {
    return lane_result<T>(sm_simd_exchange(site, &data, sizeof(T), combine_reduce<Op, T>), 0);
}
template <class Op, class T>
SM_FN T quad_reduce(T data, sm_site site) {
    const sm_lanes* lanes = sm_quad_exchange(site, &data, sizeof(T), nullptr);
    unsigned base = lane_index() & ~3u;
    T v[4];
    for (unsigned i = 0; i < 4; i++) {
        bool active = lanes->active >> (base + i) & 1u;
        v[i] = active ? lane_value<T>(lanes, base + i) : Op::template identity<T>();
    }
    return Op::apply(Op::apply(v[0], v[2]), Op::apply(v[1], v[3]));
}

// ---- Prefix sums: lane i takes in lane i - 1, then i - 2, i - 4 and so on.

template <class Op, class T>
SM_FN void scan(T* v, unsigned width) {
    for (unsigned distance = 1; distance < width; distance *= 2) {
        for (unsigned i = width - 1; i >= distance; i--) v[i] = Op::apply(v[i - distance], v[i]);
    }
}
template <class Op, class T>
inline SM_TRUSTED void combine_scan(sm_lanes* lanes) {
    T v[SM_SIMD_WIDTH];
    __builtin_memcpy(v, lanes->value, sizeof v);
    for (unsigned i = 0; i < SM_SIMD_WIDTH; i++) {
        if (!(lanes->active >> i & 1u)) v[i] = Op::template identity<T>();
    }
    scan<Op, T>(v, SM_SIMD_WIDTH);
    __builtin_memcpy(lanes->result, v, sizeof v);
}
template <class Op, class T>
SM_FN T simd_inclusive(T data, sm_site site) {
    return lane_result<T>(sm_simd_exchange(site, &data, sizeof(T), combine_scan<Op, T>),
                          lane_index());
}
template <class Op, class T>
SM_FN T simd_exclusive(T data, sm_site site) {
    const sm_lanes* lanes = sm_simd_exchange(site, &data, sizeof(T), combine_scan<Op, T>);
    unsigned lane = lane_index();
    return lane == 0 ? Op::template identity<T>() : lane_result<T>(lanes, lane - 1);
}
template <class Op, class T>
SM_FN T quad_scan(T data, bool exclusive, sm_site site) {
    const sm_lanes* lanes = sm_quad_exchange(site, &data, sizeof(T), nullptr);
    unsigned lane = lane_index(), base = lane & ~3u;
    T v[4];
    for (unsigned i = 0; i < 4; i++) {
        bool active = lanes->active >> (base + i) & 1u;
        v[i] = active ? lane_value<T>(lanes, base + i) : Op::template identity<T>();
    }
    scan<Op, T>(v, 4);
    if (!exclusive) return v[lane & 3u];
    return (lane & 3u) == 0 ? Op::template identity<T>() : v[(lane & 3u) - 1];
}

// ---- Barriers

SM_FN void barrier_threadgroup(unsigned flags, sm_site site) {
    sm_threadgroup_barrier(site, flags);
}
SM_FN void barrier_simdgroup(unsigned flags, sm_site site) { sm_simdgroup_barrier(site, flags); }

SM_FN void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// The lanes of this thread's SIMD group that exist, returned or not.
SM_FN unsigned present_lanes() {
    const sm_thread* thread = sm_current_thread();
    const sm_u32x3& size = thread->group->threads_per_threadgroup;
    unsigned first = thread->index_in_threadgroup & ~31u, total = size.x * size.y * size.z;
    return total - first >= 32 ? ~0u : (1u << (total - first)) - 1;
}

}  // namespace metal::sm
