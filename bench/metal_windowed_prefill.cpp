// What windows cost a prompt's attention: 512 tokens as one causal sequence, and the same tokens as
// two sequences, behind another sequence's cells, and behind a prefix that is read in place.
// Rounds of the two arms of a pair alternate; printed are medians, their ratio, which should be at
// least 0.8, and the kernels that each arm ran.
//
//   build/<preset>/bin/bench_metal_windowed_prefill [TOKENS [LAYERS]]
//
// On softmetal the times say what a test run costs, not what a GPU would do, and 64 tokens and one
// layer are enough to see it run.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "backend/metal/metal_backend.h"
#include "support/attention_cells.h"
#include "support/random_data.h"

namespace minfer {
namespace {

constexpr int kRounds = 5;

struct Heads {
    const char* name;
    size_t n_head, n_head_kv, head_dim;
    KvFormat format;
};
// Of Qwen2.5-0.5B and Qwen3-0.6B, over cells of every format.
constexpr Heads kShapes[] = {{"14/2 heads of 64, f32 cells", 14, 2, 64, KvFormat::F32},
                             {"14/2 heads of 64, f16 cells", 14, 2, 64, KvFormat::F16},
                             {"14/2 heads of 64, q8_0 cells", 14, 2, 64, KvFormat::Q8_0},
                             {"16/8 heads of 128, f32 cells", 16, 8, 128, KvFormat::F32},
                             {"16/8 heads of 128, f16 cells", 16, 8, 128, KvFormat::F16},
                             {"16/8 heads of 128, q8_0 cells", 16, 8, 128, KvFormat::Q8_0}};

// What each token sees: spans [lo..., hi...] or runs of 8 words a token.
struct Arm {
    std::string name;
    bool is_causal = false;
    int32_t first = 0;  // position of the first token
    std::vector<int32_t> window;
};

std::vector<int32_t> span_window(int32_t n_tokens, int32_t n_sequences, int32_t first) {
    auto spans = std::vector<test::Span>();
    const auto length = n_tokens / n_sequences;
    for (int32_t t = 0; t < n_tokens; ++t)
        spans.push_back({first + t / length * length, first + t + 1});
    return test::span_input(spans);
}

std::vector<int32_t> map_window(int32_t n_tokens, int32_t prefix, int32_t own) {
    auto maps = std::vector<test::Runs>();
    for (int32_t t = 0; t < n_tokens; ++t) maps.push_back({{0, prefix}, {own, t + 1}});
    return test::map_input(maps);
}

// Whole cells of the format as the file format has them. The q8_0 cells of the shapes have no
// padding.
std::vector<std::byte> random_cells(const KvLayout& layout, size_t n_ctx) {
    const auto dtype = layout.format == KvFormat::Q8_0  ? DType::Q8_0
                       : layout.format == KvFormat::F16 ? DType::F16
                                                        : DType::F32;
    return test::random_rows(dtype, layout.width * n_ctx, 2);
}

// The attention of all layers, of which each has cells of its own.
class Prompt {
  public:
    static Result<Prompt> create(const Heads& shape, size_t n_tokens, size_t n_ctx, int n_layers) {
        auto prompt = Prompt(shape, n_tokens, n_ctx);
        prompt.backend_ = MINFER_TRY(
            make_metal_backend({.submit_bound_seconds = 3600,
                                .trace_labels = [seen = prompt.kernels_.get()](auto label) {
                                    seen->emplace(label);
                                }}));
        MINFER_TRY(prompt.fill(n_layers));
        return prompt;
    }

    // Seconds for one prefill.
    Result<double> run(const Arm& arm) {
        auto op = op_;
        op.explicit_span = !arm.is_causal;
        const auto node =
            Node{.name = "attention", .op = op, .shape = {q_width(), n_tokens_, 1, 1}};
        const auto scratch_bytes = MINFER_TRY(backend_->prepare(node));
        const auto scratch = MINFER_TRY(buffer(scratch_bytes));
        auto positions = std::vector<int32_t>(n_tokens_);
        for (size_t t = 0; t < n_tokens_; ++t)
            positions[t] = arm.is_causal ? arm.first + static_cast<int32_t>(t) : 0;
        const auto position_input = MINFER_TRY(upload(std::as_bytes(std::span(positions))));
        auto window_input = BufRef();
        if (!arm.window.empty())
            window_input = MINFER_TRY(upload(std::as_bytes(std::span(arm.window))));
        const auto start = std::chrono::steady_clock::now();
        for (const auto& layer : layers_) {
            const BufRef in[] = {q_, layer.k, position_input, window_input};
            MINFER_TRY(backend_->execute({.node = &node,
                                          .in = std::span(in).first(arm.is_causal ? 3 : 4),
                                          .out = out_,
                                          .kv = layer,
                                          .scratch = scratch}));
        }
        MINFER_TRY(backend_->synchronize());
        const auto seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start);
        for (const auto& used : {scratch, position_input, window_input})
            if (used.bytes) backend_->free(used.id);
        return seconds.count();
    }

    std::string take_kernels() {
        auto text = std::string();
        for (const auto& kernel : std::exchange(*kernels_, {}))
            text += (text.empty() ? "" : " ") + kernel;
        return text;
    }

  private:
    Prompt(const Heads& shape, size_t n_tokens, size_t n_ctx)
        : op_{.n_head = shape.n_head,
              .n_head_kv = shape.n_head_kv,
              .head_dim = shape.head_dim,
              .scale = 1 / std::sqrt(static_cast<float>(shape.head_dim)),
              .layout = kv_layout(shape.format, shape.n_head_kv * shape.head_dim),
              .n_ctx = n_ctx},
          n_tokens_(n_tokens) {}

    size_t q_width() const { return op_.n_head * op_.head_dim; }

    Result<BufRef> buffer(size_t bytes) {
        if (bytes == 0) return BufRef();
        const auto id = MINFER_TRY(backend_->alloc(bytes));
        return BufRef{.backend = BackendId::Metal, .id = id, .bytes = bytes};
    }
    Result<BufRef> upload(std::span<const std::byte> bytes) {
        const auto ref = MINFER_TRY(buffer(bytes.size()));
        MINFER_TRY(backend_->write(ref, bytes));
        return ref;
    }
    Result<> fill(int n_layers) {
        const auto q = test::random_floats(q_width() * n_tokens_, 1);
        q_ = MINFER_TRY(upload(std::as_bytes(std::span(q))));
        out_ = MINFER_TRY(buffer(q.size() * sizeof(float)));
        const auto cells = random_cells(op_.layout, op_.n_ctx);
        const auto region = [&]() -> Result<BufRef> {
            const auto ref = MINFER_TRY(buffer(cells.size()));
            MINFER_TRY(backend_->write_cells(ref, op_.layout, 0, cells));
            return ref;
        };
        for (int i = 0; i < n_layers; ++i) {
            const auto k = MINFER_TRY(region()), v = MINFER_TRY(region());
            layers_.push_back({.k = k, .v = v});
        }
        return {};
    }

    op::Attention op_;
    size_t n_tokens_;
    std::unique_ptr<std::set<std::string>> kernels_ = std::make_unique<std::set<std::string>>();
    std::unique_ptr<MetalBackend> backend_;
    BufRef q_, out_;
    std::vector<KvPair> layers_;
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

Result<> compare(Prompt& prompt, int32_t n_tokens, const Arm& causal, const Arm& windowed) {
    std::string kernels[2];
    std::vector<double> seconds[2];
    for (int round = 0; round <= kRounds; ++round)  // the first one warms up
        for (const int i : {0, 1}) {
            prompt.take_kernels();
            const auto taken = MINFER_TRY(prompt.run(i == 0 ? causal : windowed));
            kernels[i] = prompt.take_kernels();
            if (round > 0) seconds[i].push_back(taken);
        }
    const auto a = median(seconds[0]), b = median(seconds[1]);
    std::printf("  %-40s %8.0f tok/s  %s\n", causal.name.c_str(), n_tokens / a, kernels[0].c_str());
    std::printf("  %-40s %8.0f tok/s  %s\n", windowed.name.c_str(), n_tokens / b,
                kernels[1].c_str());
    std::printf("  ratio %.3f%s\n", a / b, a / b >= 0.8 ? "" : "  BELOW 0.8");
    return {};
}

Result<> measure(const Heads& shape, int32_t n_tokens, int n_layers) {
    const auto prefix = n_tokens / 2, gap = 3 * n_tokens;
    const auto n_ctx = static_cast<size_t>(prefix + gap + n_tokens);
    auto prompt = MINFER_TRY(Prompt::create(shape, static_cast<size_t>(n_tokens), n_ctx, n_layers));
    std::printf("%s, %d tokens, %d layers, attention alone\n", shape.name, n_tokens, n_layers);
    const auto alone = Arm{.name = "causal", .is_causal = true};
    const auto behind = Arm{.name = "causal, behind a prefix", .is_causal = true, .first = prefix};
    MINFER_TRY(compare(prompt, n_tokens, alone,
                       {.name = "two sequences", .window = span_window(n_tokens, 2, 0)}));
    MINFER_TRY(compare(prompt, n_tokens, alone,
                       {.name = "behind another sequence's cells",
                        .window = span_window(n_tokens, 1, n_tokens / 4)}));
    MINFER_TRY(compare(prompt, n_tokens, behind,
                       {.name = "shared prefix, own run adjacent",
                        .window = map_window(n_tokens, prefix, prefix)}));
    return compare(prompt, n_tokens, behind,
                   {.name = "shared prefix, own run far apart",
                    .window = map_window(n_tokens, prefix, prefix + gap)});
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) {
    setenv("SOFTMETAL_CHECKS", "off", 0);
    const auto n_tokens = argc > 1 ? std::atoi(argv[1]) : 512;
    const auto n_layers = argc > 2 ? std::atoi(argv[2]) : 24;
    if (argc > 3 || n_tokens < 16 || n_layers < 1) {
        std::fprintf(stderr,
                     "usage: bench_metal_windowed_prefill [TOKENS [LAYERS]]\n"
                     "16 tokens or more; 24 layers unless given\n");
        return 2;
    }
    for (const auto& shape : minfer::kShapes)
        if (const auto done = minfer::measure(shape, n_tokens, n_layers); !done) {
            std::fprintf(stderr, "error: %s\n", done.error().what.c_str());
            return 1;
        }
    return 0;
}
