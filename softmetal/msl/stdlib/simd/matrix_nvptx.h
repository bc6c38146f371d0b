// The 8 by 8 product on an NVIDIA GPU, in float arithmetic and in the order of the CPU's: each lane
// fetches the row and the columns that its own pair needs.
#pragma once

namespace metal::sm {

SM_FN unsigned lane_of_pair(unsigned row, unsigned pair) {
    return row / 4 * 16 + pair / 2 * 8 + row % 4 * 2 + pair % 2;
}

template <class A, class B>
SM_FN vec<float, 2> multiply_8x8(vec<A, 2> a, vec<B, 2> b, sm_site) {
    unsigned lane = lane_index();
    unsigned row = (lane >> 4 & 1u) * 4 + (lane >> 1 & 3u),
             pair = (lane >> 3 & 1u) * 2 + (lane & 1u);
    ext<float, 2> sum = 0.0f;
    for (unsigned k = 0; k < 4; k++) {
        auto left = to_float(read_lane(a, lane_of_pair(row, k), kAllLanes));
        auto first = to_float(read_lane(b, lane_of_pair(2 * k, pair), kAllLanes));
        auto second = to_float(read_lane(b, lane_of_pair(2 * k + 1, pair), kAllLanes));
        ext<float, 2> x = left[0], y = left[1];
        sum = k == 0 ? x * first : fma(x, first, sum);
        sum = fma(y, second, sum);
    }
    return vec<float, 2>::of(sum);
}

}  // namespace metal::sm
