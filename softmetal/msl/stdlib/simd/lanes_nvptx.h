// How lanes of a SIMD group meet on an NVIDIA GPU: a SIMD group is a warp. Every instruction here
// waits for all lanes that have not returned, as the CPU's exchanges do, and results have the same
// bits.
#pragma once

namespace metal::sm {

constexpr unsigned kAllLanes = ~0u;

SM_FN unsigned lane_index() { return __nvvm_read_ptx_sreg_laneid(); }
SM_FN unsigned quad_lanes() { return 15u << (lane_index() & 28u); }

// A value as the 32-bit words that shuffles move.
template <class T>
struct words {
    static constexpr int kCount = (sizeof(T) + 3) / 4;
    unsigned at[kCount];

    SM_FN explicit words(const T& value) : at{} { __builtin_memcpy(at, &value, sizeof(T)); }
    SM_FN T value() const {
        T result;
        __builtin_memcpy(&result, at, sizeof(T));
        return result;
    }
};

// ---- Movement

template <class T>
SM_FN T read_lane(T data, unsigned lane, unsigned members) {
    words<T> w(data);
    for (unsigned& word : w.at) {
        word = static_cast<unsigned>(
            __nvvm_shfl_sync_idx_i32(members, static_cast<int>(word), static_cast<int>(lane), 31));
    }
    return w.value();
}
SM_FN unsigned active_lanes(unsigned members) { return __nvvm_vote_ballot_sync(members, true); }

template <class T>
SM_FN T simd_read(T data, unsigned lane, sm_site) {
    return read_lane(data, lane % 32, kAllLanes);
}
template <class T>
SM_FN T quad_read(T data, unsigned lane, sm_site) {
    return read_lane(data, (lane_index() & 28u) + (lane & 3u), quad_lanes());
}
template <class T>
SM_FN T simd_read_first(T data, sm_site) {
    return read_lane(data, __builtin_ctz(active_lanes(kAllLanes)), kAllLanes);
}
template <class T>
SM_FN T quad_read_first(T data, sm_site) {
    return read_lane(data, __builtin_ctz(active_lanes(quad_lanes())), quad_lanes());
}
template <class T>
SM_FN T simd_read_either(T data, T filling, unsigned lane, bool take_filling, sm_site site) {
    T a = simd_read(data, lane, site), b = simd_read(filling, lane, site);
    return take_filling ? b : a;
}
template <class T>
SM_FN T quad_read_either(T data, T filling, unsigned lane, bool take_filling, sm_site site) {
    T a = quad_read(data, lane, site), b = quad_read(filling, lane, site);
    return take_filling ? b : a;
}

// ---- Votes

SM_FN unsigned simd_ballot_bits(bool vote, unsigned& active, sm_site) {
    active = active_lanes(kAllLanes);
    return __nvvm_vote_ballot_sync(kAllLanes, vote);
}
SM_FN unsigned quad_ballot_bits(bool vote, unsigned& active, sm_site) {
    unsigned shift = lane_index() & 28u;
    active = active_lanes(quad_lanes()) >> shift & 15u;
    return __nvvm_vote_ballot_sync(quad_lanes(), vote) >> shift & 15u;
}

// ---- Reductions and scans. A warp with lanes missing gathers all values in every lane, since the
// missing ones cannot take part in a butterfly. Loops stay loops there: unrolled, they want more
// predicate registers than there are.

template <class Op, class T>
SM_FN void gather(T data, unsigned active, T* v) {
#pragma clang loop unroll(disable)
    for (unsigned i = 0; i < 32; i++) {
        T value = read_lane(data, i, kAllLanes);
        v[i] = active >> i & 1u ? value : Op::template identity<T>();
    }
}
template <class Op, class T>
SM_FN void scan(T* v, unsigned width) {
    for (unsigned distance = 1; distance < width; distance *= 2) {
#pragma clang loop unroll(disable)
        for (unsigned i = width - 1; i >= distance; i--) v[i] = Op::apply(v[i - distance], v[i]);
    }
}
template <class Op, class T>
SM_FN T simd_reduce(T data, sm_site) {
    unsigned active = active_lanes(kAllLanes);
    if (active == kAllLanes) {
        for (unsigned distance = 16; distance > 0; distance /= 2) {
            T other = read_lane(data, lane_index() ^ distance, kAllLanes);
            // The lower lane's value first, so that all lanes end with the same bits.
            data = lane_index() & distance ? Op::apply(other, data) : Op::apply(data, other);
        }
        return data;
    }
    T v[32];
    gather<Op>(data, active, v);
    for (unsigned half_width = 16; half_width > 0; half_width /= 2) {
#pragma clang loop unroll(disable)
        for (unsigned i = 0; i < half_width; i++) v[i] = Op::apply(v[i], v[i + half_width]);
    }
    return v[0];
}
template <class Op, class T>
SM_FN T simd_scan_inclusive(T data) {
    unsigned active = active_lanes(kAllLanes), lane = lane_index();
    if (active == kAllLanes) {
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            T lower = read_lane(data, lane - distance, kAllLanes);
            if (lane >= distance) data = Op::apply(lower, data);
        }
        return data;
    }
    T v[32];
    gather<Op>(data, active, v);
    scan<Op, T>(v, 32);
    return v[lane];
}
template <class Op, class T>
SM_FN T simd_inclusive(T data, sm_site) {
    return simd_scan_inclusive<Op>(data);
}
template <class Op, class T>
SM_FN T simd_exclusive(T data, sm_site) {
    // The lane before may be missing: what it would have is what the lanes before it have.
    unsigned active = active_lanes(kAllLanes), lane = lane_index();
    T inclusive = simd_scan_inclusive<Op>(data);
    unsigned before = active & ((1u << lane) - 1);
    T value = read_lane(inclusive, before ? 31 - __builtin_clz(before) : lane, kAllLanes);
    return before ? value : Op::template identity<T>();
}
template <class Op, class T>
SM_FN void gather_quad(T data, T* v) {
    unsigned base = lane_index() & 28u, active = active_lanes(quad_lanes());
    for (unsigned i = 0; i < 4; i++) {
        T value = read_lane(data, base + i, quad_lanes());
        v[i] = active >> (base + i) & 1u ? value : Op::template identity<T>();
    }
}
template <class Op, class T>
SM_FN T quad_reduce(T data, sm_site) {
    T v[4];
    gather_quad<Op>(data, v);
    return Op::apply(Op::apply(v[0], v[2]), Op::apply(v[1], v[3]));
}
template <class Op, class T>
SM_FN T quad_scan(T data, bool exclusive, sm_site) {
    T v[4];
    gather_quad<Op>(data, v);
    scan<Op, T>(v, 4);
    unsigned lane = lane_index() & 3u;
    if (!exclusive) return v[lane];
    return lane == 0 ? Op::template identity<T>() : v[lane - 1];
}

// ---- Barriers order memory of both kinds whatever their flags say.

SM_FN void barrier_threadgroup(unsigned, sm_site) { __syncthreads(); }
SM_FN void barrier_simdgroup(unsigned, sm_site) { __nvvm_bar_warp_sync(kAllLanes); }

SM_FN void fence() { __nvvm_membar_sys(); }

SM_FN unsigned present_lanes() {
    unsigned x = __nvvm_read_ptx_sreg_ntid_x(), y = __nvvm_read_ptx_sreg_ntid_y();
    unsigned total = x * y * __nvvm_read_ptx_sreg_ntid_z();
    unsigned index = (__nvvm_read_ptx_sreg_tid_z() * y + __nvvm_read_ptx_sreg_tid_y()) * x +
                     __nvvm_read_ptx_sreg_tid_x();
    unsigned first = index & ~31u;
    return total - first >= 32 ? ~0u : (1u << (total - first)) - 1;
}

}  // namespace metal::sm

// Lines that kernels log go to the driver's buffer.
extern "C" int vprintf(const char*, void*);
extern "C" SM_FN void sm_log(sm_u32, const char* subsystem, const char* category,
                             const char* text) {
    const char* arguments[] = {subsystem, category, text};
    vprintf("[%s:%s] %s\n", arguments);
}
