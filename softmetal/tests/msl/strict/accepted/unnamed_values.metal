// Elements of values that no variable holds.
#include <metal_stdlib>
using namespace metal;

template <class T>
float3x3 scaled(float3x3 m, T s) {
    return m * s;
}
float2x4 rectangle() { return float2x4(float4(1), float4(2)); }
array<float, 3> three() { return {{1, 2, 3}}; }
array<float3x3, 2> two() { return {{float3x3(1), float3x3(2)}}; }
packed_float3 packed() { return packed_float3(1, 2, 3); }

struct Pair {
    float2x2 m;
    array<float, 2> numbers;
};
Pair pair() { return {float2x2(1), {{1, 2}}}; }
constant constexpr array<float, 3> kNumbers = {{1, 2, 3}};
constexpr float second(array<float, 3> a) { return a[1]; }
static_assert(array<float, 3>{{1, 2, 3}}[1] == 2 && second(array<float, 3>{{1, 2, 3}}) == 2);

template <int N>
float trace(matrix<float, N, N> m) {
    float sum = 0;
    for (int i = 0; i < N; i++) sum += transpose(m)[i][i];
    return sum;
}

struct Camera {
    float4x4 view;
    float4x4 inverse() const thread { return transpose(view); }
    float4x4 held() const constant { return view; }
    float4 row(uint i) const constant { return transpose(view)[i]; }
};

kernel void k(device float* out [[buffer(0)]], constant Camera& camera [[buffer(1)]],
              device const float4x4* many [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    float3x3 m = float3x3(1);
    const float3x3 fixed = m;
    out[0] = transpose(m)[0].y;
    out[1] = (m * m)[1][0];
    out[2] = (-fixed)[i].x;
    out[3] = (fixed + m)[2][i];
    out[4] = scaled(m, 2.0f)[0][1];
    out[5] = rectangle()[1].w;
    out[6] = float3x3(1)[0][0] + half3x3(2)[0][0];
    out[7] = trace(m) + trace<4>(many[i]);
    out[8] = three()[1];
    out[9] = two()[1][0].x;
    out[10] = packed()[i] + float3(packed())[2];
    out[11] = (m[0] + m[1])[2] + float3(1)[i] + cross(m[0], m[1])[0];
    out[12] = camera.held()[0][1] + camera.row(1)[i];
    out[13] = (camera.view * many[i])[3].w;
    const Camera copy = camera;
    Camera other = camera;
    out[14] = copy.inverse()[0].x + other.inverse()[1][1] + other.view[0][0] + copy.view[1].y;
    out[14] += pair().m[1][0] + pair().numbers[1] + kNumbers[i];
    for (auto x : three()) out[14] += x;
    for (auto x : kNumbers) out[14] += x;
    out[15] = (bool3(true)[i] ? int2(1, 2) : int2(3))[1];
    out[16] = (m[0].xyz * 2.0f)[1] + m[0].zyx[1];
    float4 v = (camera.view * float4(1))[0] + transpose(many[0])[2];
    const thread float3& column = fixed[1];
    thread float3& changed = m[1];
    changed.x = column[0];
    (out + 17)[0] = v[0];
}
