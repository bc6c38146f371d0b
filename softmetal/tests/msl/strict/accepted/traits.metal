#include <metal_stdlib>
using namespace metal;

template <typename T>
T lowest() {
    return numeric_limits<T>::lowest();
}
static_assert(is_same_v<remove_addrspace_t<device float>, float>);
static_assert(is_same_v<conditional_t<true, int, float>, int>, "");
static_assert(is_integral_v<ushort> && !is_integral_v<half> && is_floating_point_v<bfloat>);
static_assert(is_signed_v<int> && is_unsigned<uchar>::value);
static_assert(is_convertible_v<int, float> && !is_same<float, half>::value);
static_assert(sizeof(float3) == 16 && sizeof(packed_float3) == 12 && alignof(half4) == 8);
static_assert(numeric_limits<int>::max() == INT_MAX && numeric_limits<uchar>::max() == 255);
template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
T twice(T x) {
    return x << 1;
}
template <typename T, enable_if_t<!is_integral_v<T>, bool> = true>
T twice(T x) {
    return x * 2;
}
kernel void k(device float* out [[buffer(0)]], device array<float, 4>* arrays [[buffer(1)]]) {
    array<float, 4> a = {{1, 2, 3, 4}};
    a[1] = 5;
    arrays[0] = a;
    arrays[1][2] = a[3];
    out[0] = lowest<float>() + float(lowest<int>()) + a.size() + arrays[2][0];
    out[1] = twice(3) + twice(1.5f);
    out[2] = numeric_limits<half>::max() + numeric_limits<float>::infinity();
    out[3] = as_type<float>(as_type<uint>(out[4]) ^ 0x80000000u);
    half2 h = as_type<half2>(out[5]);
    out[6] = h.x;
}
