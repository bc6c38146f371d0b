// Sizes: one, odd, a vector and one more, what the kernels of metal-kernels.md section 6 fell over
// in other engines, and real models' shapes (slow).

#include <cmath>

#include "conformance/op_row.h"

namespace minfer::test {
namespace {

using Rows = std::vector<Row>;

// `count` different-looking indices below `limit`, the last one first.
std::vector<int32_t> spread(size_t count, size_t limit) {
    auto indices = std::vector<int32_t>(count);
    for (size_t i = 0; i < count; ++i)
        indices[i] = static_cast<int32_t>((limit - 1 + i * 7919) % limit);
    return indices;
}

void add_elementwise(Rows& rows) {
    for (const auto& shape : {Shape{1, 1, 1, 1}, {31, 3, 1, 1}, {4096, 1, 1, 1}, {4097, 7, 1, 1}}) {
        rows.push_back({.op = op::Add{}, .shape = shape});
        rows.push_back({.op = op::Mul{}, .shape = shape});
        rows.push_back({.op = op::Scale{.factor = 0.3f}, .shape = shape});
        rows.push_back({.op = op::Silu{}, .shape = shape, .magnitude = 4});
        rows.push_back({.op = op::SwiGlu{}, .shape = shape, .magnitude = 4});
    }
    rows.push_back({.op = op::Silu{}, .shape = {1000, 1, 1, 1}, .magnitude = 100});
    rows.push_back({.op = op::SwiGlu{}, .shape = {4864, 200, 1, 1}, .slow = true});
    rows.push_back({.op = op::SwiGlu{}, .shape = {18944, 33, 1, 1}, .slow = true});
}

void add_norms(Rows& rows) {
    for (const auto& shape : {Shape{1, 1, 1, 1},
                              {31, 3, 1, 1},
                              {32, 2, 1, 1},
                              {255, 2, 1, 1},
                              {896, 9, 1, 1},
                              {1024, 2, 1, 1},
                              {4096, 1, 1, 1},
                              {4097, 3, 1, 1}}) {
        rows.push_back(
            {.op = op::RmsNorm{.eps = 1e-6f, .weight = "norm"}, .shape = shape, .magnitude = 5});
        rows.push_back({.op = op::Softmax{}, .shape = shape, .magnitude = 8});
    }
    // Here epsilon decides the result.
    rows.push_back({.op = op::RmsNorm{.eps = 1e-5f, .weight = "norm"},
                    .shape = {64, 1, 1, 1},
                    .magnitude = 1e-4f});
    rows.push_back({.op = op::RmsNorm{.eps = 1e-6f, .weight = "norm"},
                    .shape = {3584, 200, 1, 1},
                    .slow = true});
    struct Heads {
        size_t n_head, head_dim, n_tokens;
        bool slow = false;
    };
    for (const auto& [n_head, head_dim, n_tokens, slow] :
         {Heads{1, 1, 1}, Heads{3, 20, 5}, Heads{16, 128, 1}, Heads{8, 128, 9}, Heads{14, 64, 2},
          Heads{16, 128, 200, true}})
        rows.push_back(
            {.op =
                 op::QkNorm{.eps = 1e-6f, .weight = "norm", .n_head = n_head, .head_dim = head_dim},
             .shape = {n_head * head_dim, n_tokens, 1, 1},
             .magnitude = 3,
             .slow = slow});
}

Row matmul(DType dtype, size_t in_dim, size_t out_dim, size_t n_tokens, bool bias = false) {
    return {.op = op::MatMul{.weight = "w",
                             .bias = bias ? "bias" : "",
                             .dtype = dtype,
                             .in_dim = in_dim,
                             .out_dim = out_dim},
            .shape = {out_dim, n_tokens, 1, 1}};
}

void add_matmuls(Rows& rows) {
    for (const auto dtype : kWeightTypes) {
        const size_t block = info(dtype).block_values;
        // Rows of one block; and lengths that end inside every span a SIMD group takes at a time.
        const size_t tiny = block, odd = block == 1 ? 37 : 3 * block;
        const size_t long_odd = block == 1 ? 515 : block == 32 ? 544 : 1280;
        const size_t ordinary = block == 256 ? 512 : 256;
        rows.push_back(matmul(dtype, tiny, 1, 1));
        rows.push_back(matmul(dtype, odd, 1, 2));
        rows.push_back(matmul(dtype, odd, 7, 1, true));
        rows.push_back(matmul(dtype, long_odd, 60, 1, true));
        rows.push_back(matmul(dtype, long_odd, 13, 3));
        rows.push_back(matmul(dtype, ordinary, 100, 8, true));
        for (const size_t n_tokens : {2, 5, 7})
            rows.push_back(matmul(dtype, ordinary, 9, n_tokens));
        // Matrix tiles: 64 x 32, whole and cut on either side, one and several.
        rows.push_back(matmul(dtype, odd, 1, 9));
        rows.push_back(matmul(dtype, tiny, 60, 12));
        rows.push_back(matmul(dtype, ordinary, 64, 32));
        rows.push_back(matmul(dtype, ordinary, 65, 33, true));
        rows.push_back(matmul(dtype, long_odd, 100, 31));
        rows.push_back(matmul(dtype, ordinary, 8, 64));
        rows.push_back(matmul(dtype, odd, 33, 200));
        // Either side of where the width alone decides.
        rows.push_back(matmul(dtype, block == 256 ? 256 : 64, 2047, 2));
        rows.push_back(matmul(dtype, block == 256 ? 256 : 64, 2048, 2, true));
        rows.push_back(matmul(dtype, block == 256 ? 256 : 64, 2048, 1));
        // Activations that no half holds.
        auto huge = matmul(dtype, ordinary, 16, 9);
        huge.magnitude = 1e5f;
        rows.push_back(huge);
        huge.shape[1] = 1;
        rows.push_back(huge);
    }
    const auto slow = [&](Row row) {
        row.slow = true;
        rows.push_back(std::move(row));
    };
    // Qwen2.5-0.5B, Qwen3-0.6B and Qwen2.5-7B; what 896 is no multiple of is left to the others.
    for (const auto dtype : kWeightTypes) {
        if (896 % info(dtype).block_values == 0) {
            slow(matmul(dtype, 896, 4864, 1));
            slow(matmul(dtype, 896, 128, 9, true));
        }
        slow(matmul(dtype, 4864, 896, 1));
        slow(matmul(dtype, 1024, 3072, 33));
        slow(matmul(dtype, 2048, 1024, 8));
        slow(matmul(dtype, 3072, 1024, 2));
        slow(matmul(dtype, 3584, 512, 5, true));
        slow(matmul(dtype, 3584, 3584, 1, true));
    }
    slow(matmul(DType::Q4_K, 3584, 18944, 1));
    slow(matmul(DType::Q6_K, 18944, 3584, 2));
    slow(matmul(DType::Q4_0, 18944, 3584, 1));
    slow(matmul(DType::Q8_0, 3584, 512, 200, true));
    // Their heads.
    slow(matmul(DType::Q8_0, 896, 151936, 1));
    slow(matmul(DType::Q6_K, 1024, 151936, 1));
}

void add_gathers(Rows& rows) {
    const auto embed = [&](DType dtype, size_t width, size_t vocab, size_t n_tokens) {
        rows.push_back(
            {.op = op::Embed{.weight = "embd", .dtype = dtype, .width = width, .vocab = vocab},
             .shape = {width, n_tokens, 1, 1},
             .indices = spread(n_tokens, vocab)});
    };
    for (const auto dtype : kWeightTypes) {
        const size_t block = info(dtype).block_values;
        embed(dtype, block, 1, 1);
        embed(dtype, block == 1 ? 37 : 3 * block, 10, 3);
        embed(dtype, block == 256 ? 1024 : 896, 33, 9);
    }
    for (const auto& [width, n_rows, count] :
         {std::array<size_t, 3>{1, 1, 1}, {5, 7, 3}, {896, 33, 1}, {513, 200, 20}})
        rows.push_back({.op = op::GatherRows{},
                        .shape = {width, count, 1, 1},
                        .indices = spread(count, n_rows)});
}

void add_ropes(Rows& rows) {
    for (const auto style : {op::RopeStyle::NonInterleaved, op::RopeStyle::Interleaved}) {
        const auto rope = [&](size_t n_head, size_t head_dim, std::vector<int32_t> positions,
                              float freq_scale = 1) {
            const auto n_tokens = positions.size();
            rows.push_back({.op = op::Rope{.style = style,
                                           .freq_base = 1e6f,
                                           .freq_scale = freq_scale,
                                           .n_head = n_head,
                                           .head_dim = head_dim},
                            .shape = {n_head * head_dim, n_tokens, 1, 1},
                            .indices = std::move(positions)});
        };
        rope(1, 2, {1});
        rope(3, 10, {0, 1, 777, 32000});
        rope(14, 64, {40959});
        rope(2, 128, spread(33, 32768));
        rope(8, 80, {5, 6, 7}, 0.25f);
        rope(1, 320, {131071, 3});
    }
}

Row stored(const Geometry& g, std::vector<int32_t> cells) {
    return {.op = op::KvStore{.layout = g.layout(), .n_ctx = g.n_ctx},
            .shape = {g.layout().width, g.n_ctx, 1, 1},
            .indices = std::move(cells)};
}

void add_stores(Rows& rows) {
    for (const auto& [geometry, cells] :
         {std::pair{Geometry{.n_head_kv = 1, .head_dim = 1, .n_ctx = 1}, std::vector<int32_t>{0}},
          std::pair{Geometry{}, std::vector<int32_t>{99, 0, 42}},
          std::pair{Geometry{.n_head_kv = 3, .head_dim = 20, .n_ctx = 7},
                    std::vector<int32_t>{6, 0}},
          std::pair{Geometry{.n_head_kv = 8, .head_dim = 128, .n_ctx = 300}, spread(33, 300)}})
        rows.push_back(stored(geometry, cells));
    rows.push_back(
        stored({.n_head_kv = 3, .head_dim = 20, .n_ctx = 8, .format = KvFormat::F16}, {6, 0}));
    rows.push_back(
        stored({.n_head_kv = 3, .head_dim = 32, .n_ctx = 7, .format = KvFormat::Q8_0}, {6, 0}));
    for (const auto format : {KvFormat::F16, KvFormat::Q8_0}) {
        rows.push_back(stored({.format = format}, {99, 0, 42}));
        rows.push_back(stored({.n_head_kv = 8, .head_dim = 128, .n_ctx = 300, .format = format},
                              spread(33, 300)));
    }
}

Row attention(const Geometry& g, std::vector<int32_t> positions) {
    auto row = Row{
        .op = g.op(false),
        .shape = {g.width(), positions.size(), 1, 1},
        .indices = std::move(positions),
    };
    for (const auto position : row.indices) row.windows.push_back({{0, position + 1}});
    return row;
}

Row windowed(const Geometry& g, std::vector<Runs> windows, bool map) {
    auto row = attention(g, std::vector<int32_t>(windows.size(), 0));
    std::get<op::Attention>(row.op).explicit_span = true;
    row.windows = std::move(windows);
    row.map = map;
    return row;
}

std::vector<int32_t> positions_from(int32_t first, int32_t count) {
    return range(first, first + count);
}

void add_attentions(Rows& rows) {
    // Causal: one token over every count of keys that ends beside a multiple of 32 or 64.
    for (const int32_t n_keys : {1, 2, 31, 32, 33, 63, 64, 65, 127, 129, 300})
        rows.push_back(attention({.n_ctx = 300}, {n_keys - 1}));
    for (const auto& g :
         {Geometry{14, 2, 64, 65}, Geometry{16, 8, 128, 65}, Geometry{28, 4, 128, 33},
          Geometry{8, 8, 80, 40}, Geometry{3, 3, 20, 9}, Geometry{2, 1, 256, 33},
          Geometry{18, 2, 64, 40}, Geometry{1, 1, 1, 9}, Geometry{6, 2, 96, 35}})
        rows.push_back(attention(g, {static_cast<int32_t>(g.n_ctx) - 1}));
    // Long ones, where a chunk has several steps, for every size of head that kernels are built
    // for.
    for (const auto& g :
         {Geometry{4, 2, 64, 1100}, Geometry{7, 1, 64, 700}, Geometry{5, 1, 128, 600},
          Geometry{4, 2, 128, 97}, Geometry{3, 1, 112, 150}, Geometry{4, 2, 256, 150},
          Geometry{3, 1, 256, 70}})
        rows.push_back(attention(g, {static_cast<int32_t>(g.n_ctx) - 1}));
    for (const auto format : {KvFormat::F16, KvFormat::Q8_0})
        for (const size_t head_dim : {64, 128, 256})
            for (const auto& g :
                 {Geometry{4, 2, head_dim, 97, format}, Geometry{3, 1, head_dim, 40, format}})
                rows.push_back(attention(g, {static_cast<int32_t>(g.n_ctx) - 1}));
    rows.push_back(attention({}, positions_from(0, 2)));
    rows.push_back(attention({}, positions_from(0, 33)));
    rows.push_back(attention({.n_head = 14, .n_head_kv = 2}, positions_from(50, 9)));
    rows.push_back(attention({.n_head = 2, .n_head_kv = 2, .head_dim = 80}, positions_from(3, 8)));
    rows.push_back(attention({.n_head = 3, .n_head_kv = 1, .n_ctx = 400}, positions_from(320, 2)));
    rows.push_back(attention({.n_head = 3, .n_head_kv = 3, .head_dim = 128, .n_ctx = 70},
                             positions_from(60, 9)));
    auto large = attention({}, positions_from(90, 2));
    large.magnitude = 100;  // one key takes it all
    rows.push_back(large);

    // Windows of their own, at both ends of the arena and of one cell.
    rows.push_back(windowed({}, {{{37, 1}}}, false));
    rows.push_back(windowed({}, {{{0, 100}}, {{99, 1}}, {{64, 33}}}, false));
    rows.push_back(windowed({.n_head = 14, .n_head_kv = 2, .n_ctx = 200},
                            {{{96, 70}}, {{1, 64}}, {{135, 65}}}, false));
    rows.push_back(windowed({.n_head = 3, .n_head_kv = 3, .head_dim = 20}, {{{8, 3}}}, false));
    // Lists of runs.
    rows.push_back(windowed({}, {{{37, 1}}}, true));
    rows.push_back(windowed({}, {{{90, 10}, {0, 7}}, {{50, 3}, {1, 1}, {70, 10}, {20, 9}}}, true));
    rows.push_back(windowed({.n_head = 14, .n_head_kv = 2, .n_ctx = 400},
                            {{{0, 33}, {300, 65}}, {{0, 33}, {366, 1}}, {{399, 1}, {0, 399}}},
                            true));

    // Cells of the other formats: heads that only the classic kernel runs, then every size of tile.
    for (const auto format : {KvFormat::F16, KvFormat::Q8_0})
        for (const size_t head_dim : {32, 160, 64, 80, 96, 112, 128, 256}) {
            if (format == KvFormat::Q8_0 && (head_dim == 80 || head_dim == 112)) continue;
            const auto g = Geometry{4, 2, head_dim, 100, format};
            rows.push_back(attention(g, {99}));
            rows.push_back(attention(g, positions_from(20, 9)));
            rows.push_back(windowed(g, {{{0, 100}}, {{99, 1}}, {{64, 33}}}, false));
            rows.push_back(
                windowed(g, {{{90, 10}, {0, 7}}, {{50, 3}, {1, 1}, {70, 10}, {20, 9}}}, true));
        }

    auto long_prompt =
        attention({.n_head = 14, .n_head_kv = 2, .n_ctx = 200}, positions_from(0, 200));
    long_prompt.slow = true;
    rows.push_back(long_prompt);
    auto long_context = attention({.n_head = 28, .n_head_kv = 4, .head_dim = 128, .n_ctx = 1025},
                                  positions_from(1023, 2));
    long_context.slow = true;
    rows.push_back(long_context);
}

// Several tokens, as tiles of 8 queries by 64 cells take them: every head size, windows of every
// kind, and counts on either side of a tile.
void add_tiles(Rows& rows) {
    for (const size_t head_dim : {64, 80, 96, 112, 128, 256}) {
        const auto g = Geometry{.n_head = 2, .n_head_kv = 1, .head_dim = head_dim, .n_ctx = 150};
        rows.push_back(attention(g, positions_from(60, 9)));
        rows.push_back(windowed(g, {{{70, 10}}, {{3, 1}}, {{64, 65}}}, false));
        rows.push_back(
            windowed(g, {{{140, 10}, {0, 7}}, {{50, 33}, {1, 1}, {83, 10}, {20, 9}}}, true));
    }
    for (const int32_t n_cells : {63, 64, 65, 72, 127, 128, 129})
        rows.push_back(
            attention({.n_head = 2, .n_head_kv = 1, .n_ctx = 129}, positions_from(n_cells - 3, 3)));
    rows.push_back(attention({.n_head = 3, .n_head_kv = 3}, positions_from(0, 70)));
    // Packed cells from a later one on.
    const auto packed = Geometry{.format = KvFormat::Q8_0};
    rows.push_back(windowed(packed, {{{37, 20}}, {{60, 33}}}, false));
    rows.push_back(windowed(packed, {{{90, 10}, {37, 7}}, {{50, 33}}}, true));
    // Of two blocks a tile sees the last cell and the first one, of the one between them nothing.
    rows.push_back(windowed({.n_ctx = 300}, {{{0, 1}, {127, 1}}, {{0, 1}, {192, 1}}}, true));
}

void add_fused(Rows& rows) {
    struct Case {
        size_t in_dim, n_head, n_head_kv, head_dim;
        op::RopeStyle style = op::RopeStyle::NonInterleaved;
        bool slow = false;
        KvFormat format = KvFormat::F32;
    };
    for (const auto dtype : kWeightTypes) {
        const size_t block = info(dtype).block_values;
        auto cases = std::vector<Case>{
            {block == 1 ? size_t{37} : block, 2, 1, 10},
            {block == 256 ? size_t{512} : 256, 4, 2, 64, op::RopeStyle::Interleaved},
            {block == 256 ? size_t{1024} : 896, 14, 2, 64, op::RopeStyle::NonInterleaved, true},
        };
        if (dtype == DType::F32)
            for (const auto style : {op::RopeStyle::NonInterleaved, op::RopeStyle::Interleaved})
                cases.push_back({37, 2, 1, 10, style, false, KvFormat::F16});
        for (const auto& c : cases) {
            for (const bool joined : {false, true}) {
                const auto qkv =
                    op::QkvProjection{.weights = joined ? std::vector<std::string>{"qkv"}
                                                        : std::vector<std::string>{"q", "k", "v"},
                                      .dtype = dtype,
                                      .in_dim = c.in_dim,
                                      .n_head = c.n_head,
                                      .n_head_kv = c.n_head_kv,
                                      .head_dim = c.head_dim,
                                      .style = c.style,
                                      .freq_base = 1e6f,
                                      .layout = kv_layout(c.format, c.n_head_kv * c.head_dim),
                                      .n_ctx = 50};
                const auto shape = Shape{qkv.q_width() + 2 * qkv.kv_width(), 1, 1, 1};
                // Position 1234 goes to cell 7.
                rows.push_back({.op = op::FusedQkv{.qkv = qkv, .biases = {"bq", "bk", "bv"}},
                                .shape = shape,
                                .indices = {1234, 7},
                                .slow = c.slow});
                rows.push_back(
                    {.op =
                         op::FusedQkvNorm{.qkv = qkv, .eps = 1e-6f, .q_norm = "nq", .k_norm = "nk"},
                     .shape = shape,
                     .indices = {1234, 7},
                     .slow = c.slow});
                const auto width = c.slow ? size_t{4864} : c.n_head * c.head_dim + 3;
                rows.push_back(
                    {.op = op::FusedFfn{.weights = joined ? std::vector<std::string>{"gate_up"}
                                                          : std::vector<std::string>{"gate", "up"},
                                        .dtype = dtype,
                                        .in_dim = c.in_dim,
                                        .width = width},
                     .shape = {2 * width, 1, 1, 1},
                     .slow = c.slow});
            }
        }
    }
}

void add_without_kernel(Rows& rows) {
    rows.push_back({.op = op::Input{}, .shape = {5, 2, 1, 1}});
    rows.push_back({.op = op::View{}, .shape = {5, 2, 1, 1}});
    rows.push_back({.op = op::KvLoad{.layout = Geometry{}.layout(), .n_ctx = 100},
                    .shape = {Geometry{}.layout().width, 100, 1, 1}});
}

template <class T>
constexpr bool has_dtype = requires(const T& op) { op.dtype; };
template <class T>
constexpr bool has_projection = requires(const T& op) { op.qkv; };

}  // namespace

const std::vector<Row>& op_rows() {
    static const auto all = [] {
        auto rows = Rows();
        add_elementwise(rows);
        add_norms(rows);
        add_matmuls(rows);
        add_gathers(rows);
        add_ropes(rows);
        add_stores(rows);
        add_attentions(rows);
        add_tiles(rows);
        add_fused(rows);
        add_without_kernel(rows);
        return rows;
    }();
    return all;
}

std::string family(const Op& op) {
    const auto dtype = std::visit(
        []<class T>(const T& node) -> std::optional<DType> {
            if constexpr (has_projection<T>) return node.qkv.dtype;
            if constexpr (has_dtype<T>) return node.dtype;
            return std::nullopt;
        },
        op);
    return std::string(op_name(op)) + (dtype ? fmt::format("_{}", name(*dtype)) : "");
}

std::string label(const Row& row) {
    auto text = fmt::format("{} [{}, {}]", family(row.op), row.shape[0], row.tokens());
    if (const auto* matmul = std::get_if<op::MatMul>(&row.op))
        text += fmt::format(" from {}{}", matmul->in_dim, matmul->bias.empty() ? "" : " with bias");
    if (const auto* rope = std::get_if<op::Rope>(&row.op))
        text += fmt::format(" heads of {}{}", rope->head_dim,
                            rope->style == op::RopeStyle::Interleaved ? " interleaved" : "");
    if (const auto* norm = std::get_if<op::QkNorm>(&row.op))
        text += fmt::format(" heads of {}", norm->head_dim);
    if (const auto* a = std::get_if<op::Attention>(&row.op)) {
        text += fmt::format(" {}/{} heads of {}, {} cells, {}", a->n_head, a->n_head_kv,
                            a->head_dim, a->n_ctx,
                            row.map            ? "runs"
                            : a->explicit_span ? "spans"
                                               : "causal");
        for (const auto& run : row.windows.back())
            text += fmt::format(" [{}, {})", run.first, run.first + run.length);
    }
    const auto* fused = std::get_if<op::FusedQkv>(&row.op);
    const auto* normed = std::get_if<op::FusedQkvNorm>(&row.op);
    if (fused || normed) {
        const auto& qkv = fused ? fused->qkv : normed->qkv;
        text += fmt::format(" from {}, {} weights", qkv.in_dim, qkv.weights.size());
    }
    if (const auto* ffn = std::get_if<op::FusedFfn>(&row.op))
        text += fmt::format(" from {}, {} weights", ffn->in_dim, ffn->weights.size());
    if (const auto use = op_kv_use(row.op); use && use->layout.format != KvFormat::F32)
        text += fmt::format(" {} cells", name(use->layout.format));
    if (row.magnitude != 1) text += fmt::format(" magnitude {}", row.magnitude);
    return text;
}

}  // namespace minfer::test
