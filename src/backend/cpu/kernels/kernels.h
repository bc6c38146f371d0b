#pragma once
// The inner loops, as a table of functions per instruction set. Everything in here is plain
// pointers and sizes: these files are compiled with instruction set flags, and an inline function
// of a shared header that is emitted there could replace the generic copy at link time.
//
// Rules all of them keep: floats need their own alignment and no more, output may be the first
// input, memory past the given counts is neither read nor written, and the bits of an element do
// not depend on where in a row or in which tile it is computed.

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace minfer::cpu {

// How activation rows are laid out for a matrix kernel.
enum class ActFormat : uint8_t {
    F32,
    Q8,   // blocks of 32: int8 q[n], then float d[n/32], then float s[n/32] = d * sum of q
    Q8K,  // blocks of 256: int8 q[n], then float d[n/256], then int16 sums of 16 q each [n/16]
};

// Bytes of one row of n values.
constexpr size_t act_row_bytes(ActFormat format, size_t n) {
    switch (format) {
        case ActFormat::F32:
            return n * 4;
        case ActFormat::Q8:
            return n + n / 32 * 8;
        case ActFormat::Q8K:
            return n + n / 256 * 4 + n / 16 * 2;
    }
    return 0;
}

// out[t * out_stride + r] = dot(W[r], x[t]) + bias[r] for r in [row_begin, row_end), all tokens.
struct MatRows {
    const std::byte* weight = nullptr;  // row `row_begin` and the following
    size_t weight_stride = 0;           // bytes
    const std::byte* x = nullptr;       // rows in the kernel's ActFormat
    size_t x_stride = 0;                // bytes
    const float* bias = nullptr;        // [all rows], or none
    float* out = nullptr;
    size_t out_stride = 0;  // floats
    size_t in_dim = 0;
    size_t row_begin = 0, row_end = 0;
    size_t n_tokens = 0;
};

struct MatKernel {
    DType dtype;
    ActFormat activations;
    void (*run)(const MatRows&);
};

struct CellRun {
    size_t cell = 0, count = 0;
};

// One query head of one token over its window.
struct AttentionHead {
    const float* q = nullptr;      // [head_dim]
    const std::byte* k = nullptr;  // cell 0; the next cell lies row_bytes on
    const std::byte* v = nullptr;
    size_t row_bytes = 0;
    size_t first = 0;               // element of a cell where this KV head begins
    const CellRun* runs = nullptr;  // at least one cell in total
    size_t n_runs = 0;
    float scale = 1;
    size_t head_dim = 0;
    float* scores = nullptr;     // scratch, one per cell of the window
    std::byte* query = nullptr;  // scratch of act_row_bytes(Q8, head_dim), for attention_q8 alone
    float* out = nullptr;        // [head_dim]
};

struct Kernels {
    const char* name;
    void (*add)(const float* a, const float* b, float* out, size_t n);
    void (*mul)(const float* a, const float* b, float* out, size_t n);
    void (*scale)(const float* x, float factor, float* out, size_t n);
    void (*silu)(const float* x, float* out, size_t n);
    void (*swiglu)(const float* gate, const float* up, float* out, size_t n);
    void (*softmax)(const float* x, float* out, size_t n);
    void (*rms_norm)(const float* x, const float* weight, float eps, float* out, size_t n);
    // Rotates pairs (x[i], x[i + half]) by the angle whose cosine and sine are given, i < half.
    void (*rope)(const float* x, const float* cosine, const float* sine, float* out, size_t half);
    // Over cells of each format, q8_0 either exactly or with the query in 8 bits as well; that
    // takes heads that are whole blocks.
    void (*attention_f32)(const AttentionHead&);
    void (*attention_f16)(const AttentionHead&);
    void (*attention_q8_0)(const AttentionHead&);
    void (*attention_q8)(const AttentionHead&);
    // To halves, rounded to nearest even: overflow is infinity, NaN stays NaN.
    void (*to_f16)(const float* x, std::byte* out, size_t n);
    // Rounds one row of n values (a multiple of the block) to 8 bits. A block with a value that is
    // not finite gets a NaN scale, so that its products are NaN too.
    void (*quantize_q8)(const float* x, std::byte* out, size_t n);
    void (*quantize_q8k)(const float* x, std::byte* out, size_t n);
    const MatKernel* matrices;
    size_t n_matrices;
};

// The kernel for this pair, or null.
const MatKernel* find_matrix(const Kernels& kernels, DType dtype, ActFormat activations);

const Kernels& scalar_kernels();
const Kernels& avx2_kernels();  // built on x86 only
const Kernels& neon_kernels();  // built on arm only

}  // namespace minfer::cpu
