#include <metal_stdlib>
using namespace metal;

// Templates over pointers, functions and address spaces; explicit instances.
struct Block {
    half scale;
    char quants[32];
};
template <class Type4>
void unpack(device const Block* b, short i, thread Type4& out) {
    out = Type4(b->quants[i], b->quants[i + 1], b->quants[i + 2], b->quants[i + 3]) * b->scale;
}
template <class T>
void unpack_half(device const T* b, short i, thread half4& out) {
    out = half4(b[i]);
}
template <typename block, short step, void (*dequantize)(device const block*, short, thread float4&)>
kernel void rows(device const block* in [[buffer(0)]], device float4* out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    float4 v;
    dequantize(in + i, step, v);
    out[i] = v;
}
typedef decltype(rows<Block, 4, unpack>) rows_t;
template [[host_name("rows_4")]] kernel rows_t rows<Block, 4, unpack>;
template [[host_name("rows_8")]] [[kernel]] void rows<Block, 8, unpack<float4>>(
    device const Block*, device float4*, uint);

template <typename T, int N>
struct Loader {
    const device T* source;
    threadgroup T* target;
    thread const short& lane;
    Loader(const device T* s, threadgroup T* t, thread const short& l)
        : source(s), target(t), lane(l) {}
    void load() {
        for (short i = 0; i < N; i++) target[lane * N + i] = source[lane * N + i];
    }
    void next() { source += N; }
};
template <typename P>
struct pointee;
template <typename T>
struct pointee<device T*> {
    using type = remove_cv_t<T>;
};
template <typename T>
struct pointee<threadgroup T*> {
    using type = remove_cv_t<T>;
};
template <typename P>
typename pointee<P>::type sum(P values, int n) {
    typename pointee<P>::type total(0);
    for (int i = 0; i < n; i++) total += values[i];
    return total;
}
template <typename T, int N>
void scale(thread T (&values)[N], T by) {
    for (thread T& v : values) v *= by;
}
template <typename T>
void advance(const device T*& p, device T*& q, uint n) {
    p += n;
    q += n;
}
template <typename T, typename = enable_if_t<is_floating_point_v<T>>>
T half_of(T x) {
    return x / 2;
}

kernel void k(const device float* in [[buffer(0)]], device float* out [[buffer(1)]],
              threadgroup float* shared [[threadgroup(0)]],
              short lane [[thread_index_in_threadgroup]]) {
    Loader<float, 4> loader(in, shared, lane);
    loader.load();
    loader.next();
    float values[3] = {1, 2, 3};
    scale(values, 2.0f);
    advance(in, out, 4);
    out[0] = sum(in, 4) + sum(shared, 4) + half_of(values[0]);
}

// Components of what is not known yet.
template <typename V>
V crossed(V a, V b) {
    V c = -a.yzx * b.zxy;
    c.xyz += a.xyz * 2 - b.rgb;
    c.xy = a.xy + b.xy;
    return c * a.x;
}
kernel void cross_all(device float3* v [[buffer(0)]]) { v[0] = crossed(v[1], v[2]); }
