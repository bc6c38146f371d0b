// How long MSL takes to compile: a source with 40 small kernel instances, as a program would hand
// it over at run time. Prints the best of three for each way.
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "softmetal/msl/compiler.h"

namespace {

using namespace softmetal;

// Ten families of kernels for each of four types.
std::string source() {
    std::string out = R"(
#include <metal_stdlib>
using namespace metal;
struct Args { uint rows, width; float scale; };

template <typename T> [[kernel]] void copy(const device T* in [[buffer(0)]], device T* out [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = in[i]; }
template <typename T> [[kernel]] void scale(const device T* in [[buffer(0)]], device T* out [[buffer(1)]], constant Args& args [[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = T(float(in[i]) * args.scale); }
template <typename T> [[kernel]] void silu(const device T* in [[buffer(0)]], device T* out [[buffer(1)]], uint i [[thread_position_in_grid]]) { float x = float(in[i]); out[i] = T(x / (1 + exp(-x))); }
template <typename T> [[kernel]] void add(const device T* a [[buffer(0)]], const device T* b [[buffer(1)]], device T* out [[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = a[i] + b[i]; }
template <typename T> [[kernel]] void add4(const device vec<T, 4>* a [[buffer(0)]], const device vec<T, 4>* b [[buffer(1)]], device vec<T, 4>* out [[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = a[i] + b[i]; }
template <typename T> [[kernel]] void transpose(const device T* in [[buffer(0)]], device T* out [[buffer(1)]], constant Args& args [[buffer(2)]], uint2 at [[thread_position_in_grid]]) { out[at.x * args.rows + at.y] = in[at.y * args.width + at.x]; }
template <typename T> [[kernel]] void row_sum(const device T* in [[buffer(0)]], device T* out [[buffer(1)]], constant Args& args [[buffer(2)]], uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float sum = 0;
    for (uint i = lane; i < args.width; i += 32) sum += float(in[row * args.width + i]);
    sum = simd_sum(sum);
    if (lane == 0) out[row] = T(sum);
}
template <typename T> [[kernel]] void rms_norm(const device T* in [[buffer(0)]], device T* out [[buffer(1)]], constant Args& args [[buffer(2)]], uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
    threadgroup float parts[32];
    float sum = 0;
    for (uint i = t; i < args.width; i += n) { float x = float(in[row * args.width + i]); sum += x * x; }
    sum = simd_sum(sum);
    if (lane == 0) parts[group] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < (n + 31) / 32 ? parts[lane] : 0);
    float r = rsqrt(sum / args.width + args.scale);
    for (uint i = t; i < args.width; i += n) out[row * args.width + i] = T(float(in[row * args.width + i]) * r);
}
template <typename T> [[kernel]] void dot_rows(const device T* m [[buffer(0)]], const device T* x [[buffer(1)]], device float* out [[buffer(2)]], constant Args& args [[buffer(3)]], uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float sum = 0;
    for (uint i = lane; i < args.width / 4; i += 32) sum += dot(float4(((const device vec<T, 4>*)(m + row * args.width))[i]), float4(((const device vec<T, 4>*)x)[i]));
    sum = simd_sum(sum);
    if (lane == 0) out[row] = sum;
}
template <typename T> [[kernel]] void softmax(device T* x [[buffer(0)]], constant Args& args [[buffer(1)]], uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    device T* mine = x + row * args.width;
    float top = -INFINITY, sum = 0;
    for (uint i = lane; i < args.width; i += 32) top = max(top, float(mine[i]));
    top = simd_max(top);
    for (uint i = lane; i < args.width; i += 32) sum += exp(float(mine[i]) - top);
    sum = simd_sum(sum);
    for (uint i = lane; i < args.width; i += 32) mine[i] = T(exp(float(mine[i]) - top) / sum);
}
#define instance(kernel_name, T) template [[host_name(#kernel_name "_" #T)]] [[kernel]] decltype(kernel_name<T>) kernel_name<T>;
#define instances(T) instance(copy, T) instance(scale, T) instance(silu, T) instance(add, T) instance(add4, T) \
    instance(transpose, T) instance(row_sum, T) instance(rms_norm, T) instance(dot_rows, T) instance(softmax, T)
instances(float)
instances(half)
instances(bfloat)
instances(int)
)";
    return out;
}

void measure(const char* what, const std::function<bool()>& run) {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
        const auto start = std::chrono::steady_clock::now();
        if (!run()) return;
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("%-44s %7.3f s\n", what, best);
}

template <class T>
bool succeeded(const Result<T>& result) {
    if (!result) std::fprintf(stderr, "%s\n", result.error().c_str());
    return result.has_value();
}

}  // namespace

int main() {
    const auto text = source();
    const auto compile = [&](msl::CompileOptions options) {
        return [&text, options] {
            return succeeded(msl::compile(text, "program_source", "", options));
        };
    };
    std::printf("40 kernel instances\n");
    measure("plain", compile({.checked = false, .cache = false}));
    measure("plain and checked, side by side", compile({.cache = false}));
    measure("plain and checked, from the cache", compile({}));
    measure("PTX", [&] { return succeeded(msl::compile_to_ptx(text, "program_source", "", {})); });
    const std::string one = "kernel void f(device float* x [[buffer(0)]]) { x[0] = 1; }\n";
    std::printf("1 kernel\n");
    measure("plain", [&] {
        return succeeded(
            msl::compile(one, "program_source", "", {.checked = false, .cache = false}));
    });
}
