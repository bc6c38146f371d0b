#pragma once
// Operations as data: what a node computes, with everything a kernel needs to know except the
// memory. Two nodes compute the same thing iff their ops compare equal.
//
// Weights are named, never pointed to: the executing backend's registry resolves the name. Weight
// matrices are `out_dim` rows of `in_dim` elements in any dtype that runs; norms and biases are
// f32.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/types.h"

namespace minfer {

// Cells of the KV cache: how one row (the K or the V of one token in one layer) is stored.
enum class KvFormat : uint8_t { F32, F16, Q8_0 };

std::string_view name(KvFormat format);  // "f32", as flags and messages spell it

struct KvLayout {
    KvFormat format = KvFormat::F32;
    size_t width = 0;      // elements of one cell: n_head_kv * head_dim
    size_t row_bytes = 0;  // stride between cells
    bool operator==(const KvLayout&) const = default;
};

// One cell: f32 takes four bytes an element, f16 two, q8_0 34 bytes per 32, padded to whole words.
// q8_0 needs width % 32 == 0.
KvLayout kv_layout(KvFormat format, size_t width);

namespace op {

struct Input {  // filled by the host before execution; declared at the head of the graph
    bool operator==(const Input&) const = default;
};
struct Add {  // a + b, same shape
    bool operator==(const Add&) const = default;
};
struct Mul {  // a * b, same shape
    bool operator==(const Mul&) const = default;
};
struct Scale {
    float factor = 1;
    bool operator==(const Scale&) const = default;
};
struct Silu {  // x / (1 + exp(-x))
    bool operator==(const Silu&) const = default;
};
struct SwiGlu {  // silu(gate) * up
    bool operator==(const SwiGlu&) const = default;
};
struct Softmax {  // over dimension 0 of every row, maximum subtracted
    bool operator==(const Softmax&) const = default;
};
struct RmsNorm {  // each row of dimension 0: x / sqrt(mean(x^2) + eps) * weight
    float eps = 0;
    std::string weight;  // f32[width]
    bool operator==(const RmsNorm&) const = default;
};
struct QkNorm {  // RMS norm of each head_dim-wide run, one weight for all heads
    float eps = 0;
    std::string weight;  // f32[head_dim]
    size_t n_head = 0, head_dim = 0;
    bool operator==(const QkNorm&) const = default;
};
struct MatMul {          // out[t][o] = dot(W[o], x[t]) + bias[o]
    std::string weight;  // dtype[out_dim][in_dim]
    std::string bias;    // f32[out_dim]; empty: none
    DType dtype = DType::F32;
    size_t in_dim = 0, out_dim = 0;
    bool operator==(const MatMul&) const = default;
};
struct Embed {           // row ids[t] of the weight, dequantised; an id >= vocab is an error
    std::string weight;  // dtype[vocab][width]
    DType dtype = DType::F32;
    size_t width = 0, vocab = 0;
    bool operator==(const Embed&) const = default;
};
struct GatherRows {  // out[t] = x[ids[t]]; out of range is an error
    bool operator==(const GatherRows&) const = default;
};
enum class RopeStyle : uint8_t {
    NonInterleaved,  // pairs (i, i + head_dim/2): Qwen, NeoX
    Interleaved,     // pairs (2i, 2i + 1)
};
struct Rope {  // rotates pair i at position p by p * freq_scale / freq_base^(2i / head_dim)
    RopeStyle style = RopeStyle::NonInterleaved;
    float freq_base = 10000, freq_scale = 1;
    size_t n_head = 0, head_dim = 0;
    bool operator==(const Rope&) const = default;
};
struct KvStore {  // cells[t] of the layer's regions := k[t], v[t]; the output is the K region
    uint32_t layer = 0;
    KvLayout layout;
    size_t n_ctx = 0;
    bool operator==(const KvStore&) const = default;
};
struct KvLoad {  // no kernel: names the layer's regions, ordered after the store it takes as source
    uint32_t layer = 0;
    KvLayout layout;
    size_t n_ctx = 0;
    bool operator==(const KvLoad&) const = default;
};
// Sources q, kv, positions, window. Query head h reads KV head h / (n_head / n_head_kv); scores are
// scale * dot, softmax over the token's own window, V accumulated in window order. The reduction
// length depends on the token only, never on the batch, so prefill in pieces equals prefill in one.
struct Attention {
    uint32_t layer = 0;
    size_t n_head = 0, n_head_kv = 0, head_dim = 0;
    float scale = 1;
    KvLayout layout;
    size_t n_ctx = 0;
    bool explicit_span = false;  // false: the window is cells [0, position] and a backend may
                                 // ignore the window input; true: it must read it
    bool operator==(const Attention&) const = default;
};
// What both fused forms of "project, rotate, store" share. Decode only: one token. The output is
// q | k | v of that token, [n_head * head_dim + 2 * n_head_kv * head_dim], q and k rotated; k and v
// are stored to cell cells[0] of the layer's regions as well. Sources x, positions, cells.
struct QkvProjection {
    uint32_t layer = 0;
    std::vector<std::string> weights;  // of q, k and v; or one that holds all their rows in order
    DType dtype = DType::F32;
    size_t in_dim = 0;
    size_t n_head = 0, n_head_kv = 0, head_dim = 0;
    RopeStyle style = RopeStyle::NonInterleaved;
    float freq_base = 10000, freq_scale = 1;
    KvLayout layout;
    size_t n_ctx = 0;

    size_t q_width() const { return n_head * head_dim; }
    size_t kv_width() const { return n_head_kv * head_dim; }
    bool operator==(const QkvProjection&) const = default;
};
struct FusedQkv {  // with biases, before the rotation
    QkvProjection qkv;
    std::array<std::string, 3> biases;  // of q, k and v: f32[width]
    bool operator==(const FusedQkv&) const = default;
};
struct FusedQkvNorm {  // with an RMS norm of each head of q and k, before the rotation
    QkvProjection qkv;
    float eps = 0;
    std::string q_norm, k_norm;  // f32[head_dim]
    bool operator==(const FusedQkvNorm&) const = default;
};
// Decode only. Output [2 * width]: silu(gate) * up in the first half, up in the second. Source x.
struct FusedFfn {
    std::vector<std::string> weights;  // gate and up; or one that holds both
    DType dtype = DType::F32;
    size_t in_dim = 0, width = 0;
    bool operator==(const FusedFfn&) const = default;
};
struct View {           // a window of the source; moves nothing
    size_t offset = 0;  // elements from the start of the source
    bool operator==(const View&) const = default;
};

}  // namespace op

using Op = std::variant<op::Input, op::Add, op::Mul, op::Scale, op::Silu, op::SwiGlu, op::Softmax,
                        op::RmsNorm, op::QkNorm, op::MatMul, op::Embed, op::GatherRows, op::Rope,
                        op::KvStore, op::KvLoad, op::Attention, op::View, op::FusedQkv,
                        op::FusedQkvNorm, op::FusedFfn>;

// Name as in exports and error messages: "MatMul", "KvStore", ...
std::string_view op_name(const Op& op);

// The weight names an op refers to, in the order of Call::weights; an absent bias is left out. Of
// the fused ops: the matrices, then the biases or norms.
std::vector<std::string_view> op_weights(const Op& op);

// The dtype of the op's weight matrices; none for an op without one.
std::optional<DType> op_matrix_dtype(const Op& op);

// The KV regions an op touches; none for an op that touches none.
struct KvUse {
    uint32_t layer = 0;
    KvLayout layout;
    size_t n_ctx = 0;
    bool stores = false;  // writes cells: its result matters whoever reads its output
    bool operator==(const KvUse&) const = default;

    bool same_regions(const KvUse& other) const {
        return layer == other.layer && layout == other.layout && n_ctx == other.n_ctx;
    }
};
std::optional<KvUse> op_kv_use(const Op& op);

// Window inputs, told apart by their length alone.
constexpr size_t kKvMapMaxSpans = 4;
inline size_t attn_span_elements(size_t n_tokens) { return 2 * n_tokens; }
inline size_t kv_map_elements(size_t n_tokens) { return n_tokens * kKvMapMaxSpans * 2; }

// inv_freq[i] = freq_scale / freq_base^(2i / head_dim) for i < head_dim / 2, computed in double and
// rounded once; the angle is the f32 product position * inv_freq[i].
std::vector<float> rope_inv_freq(const op::Rope& rope);

}  // namespace minfer
