// What attention of one token costs on Metal: each family of kernels over each format of cells and
// length of context, for the heads of Qwen2.5-0.5B. Families of one format take turns.
//
//   build/<preset>/bin/bench_metal_decode_attention [--filter flash/]
//
// The roofline is memory. A token does 4 * n_head * head_dim operations a cell and has to read K
// and V of it once: 14 query heads over 2 KV heads make 3.5 operations a byte of f32 cells, 7 of
// f16 and 13 of q8_0, while Apple's GPUs do 20 and more in the time of a byte. So a step should
// take visible cells / bandwidth, and GB/s is to be held against the device's. What is read again
// the caches serve; "loaded" says how much that is: the bytes that each kernel's SIMD groups load,
// queries and partial results included, over the bytes of the visible cells. 1 is the least, and
// n_head / n_head_kv = 7 is what it takes when each query head loads its own K and V.
//
// On softmetal, which counts, "loaded" is the same on every machine and the times say nothing of a
// GPU.

#include <cstdlib>
#include <memory>

#include "backend/metal/metal_backend.h"
#include "bench/loads.h"
#include "bench/timing.h"
#include "support/attention_cells.h"
#include "support/random_data.h"

namespace minfer {
namespace {

constexpr size_t kHeads = 14, kKvHeads = 2, kHeadDim = 64;

struct Family {
    const char* name;
    bool flash, split;  // the switches that leave it
};
constexpr Family kFamilies[] = {
    {"flash", true, true}, {"split", false, true}, {"classic", false, false}};

struct Cells {
    const char* name;
    KvFormat format;
    DType rows;
    bool split_blocks;
};
constexpr Cells kCells[] = {{"f32", KvFormat::F32, DType::F32, true},
                            {"f16", KvFormat::F16, DType::F16, true},
                            {"q8_0", KvFormat::Q8_0, DType::Q8_0, true},
                            {"q8_0-blocks", KvFormat::Q8_0, DType::Q8_0, false}};

class Token {
  public:
    static Result<std::shared_ptr<Token>> create(const Family& family, const Cells& cells,
                                                 size_t n_ctx) {
        auto token = std::make_shared<Token>();
        auto options = MetalOptions{.submit_bound_seconds = 3600};
        options.attention.flash = family.flash;
        options.attention.split = family.split;
        options.attention.split_blocks = cells.split_blocks;
        token->backend_ = MINFER_TRY(make_metal_backend(options));
        MINFER_TRY(token->fill(cells, n_ctx));
        return token;
    }

    double cell_bytes() const { return 2 * static_cast<double>(layer_.k.bytes); }

    Result<> step() {
        const BufRef in[] = {q_, layer_.k, position_, BufRef()};
        MINFER_TRY(backend_->execute({.node = &node_,
                                      .in = std::span(in).first(3),
                                      .out = out_,
                                      .kv = layer_,
                                      .scratch = scratch_}));
        return backend_->synchronize();
    }

  private:
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
    Result<> fill(const Cells& cells, size_t n_ctx) {
        const auto geometry = test::Geometry{.n_head = kHeads,
                                             .n_head_kv = kKvHeads,
                                             .head_dim = kHeadDim,
                                             .n_ctx = n_ctx,
                                             .format = cells.format};
        const auto layout = geometry.layout();
        node_ = Node{
            .name = "attention", .op = geometry.op(false), .shape = {geometry.width(), 1, 1, 1}};
        const auto q = test::random_floats(geometry.width(), 1);
        q_ = MINFER_TRY(upload(std::as_bytes(std::span(q))));
        const auto last = static_cast<int32_t>(n_ctx - 1);
        position_ = MINFER_TRY(upload(std::as_bytes(std::span(&last, 1))));
        out_ = MINFER_TRY(buffer(q.size() * sizeof(float)));
        for (auto* const region : {&layer_.k, &layer_.v}) {
            // Cells of two heads of 64 have no padding.
            const auto rows = test::random_rows(cells.rows, layout.width * n_ctx, 2);
            *region = MINFER_TRY(buffer(rows.size()));
            MINFER_TRY(backend_->write_cells(*region, layout, 0, rows));
        }
        const auto scratch = MINFER_TRY(backend_->prepare(node_));
        scratch_ = MINFER_TRY(buffer(scratch));
        return {};
    }

    std::unique_ptr<MetalBackend> backend_;
    Node node_;
    BufRef q_, out_, position_, scratch_;
    KvPair layer_;
};

Result<bench::Case> attend(const Family& family, const Cells& cells, size_t n_ctx) {
    const auto token = MINFER_TRY(Token::create(family, cells, n_ctx));
    const auto loads = MINFER_TRY(bench::count_loads([&] { return token->step(); }));
    auto note = std::string();
    for (const auto& [kernel, bytes] : loads)
        note += fmt::format("{}{} {:.2f}", note.empty() ? "loaded: " : ", ", kernel,
                            bytes / token->cell_bytes());
    return bench::Case{.step = [=] { return token->step(); },
                       .rates = {{"GB/s", token->cell_bytes() / 1e9}},
                       .note = note};
}

Result<> measure(bench::Bench& bench) {
    const auto lengths =
        bench.smoke() ? std::vector<size_t>{64} : std::vector<size_t>{512, 4096, 32768};
    for (const auto n_ctx : lengths)
        for (const auto& cells : kCells) {
            auto group = std::vector<bench::Candidate>();
            for (const auto& family : kFamilies) {
                // Packed cells go from flash to classic at once.
                if (cells.format == KvFormat::Q8_0 && !family.flash && family.split) continue;
                group.push_back(
                    {.name = fmt::format("{}/{}/cells:{}", family.name, cells.name, n_ctx),
                     .make = [=] { return attend(family, cells, n_ctx); }});
            }
            MINFER_TRY(bench.compare(group));
        }
    return {};
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) {
    setenv("SOFTMETAL_CHECKS", "off", 0);
    return minfer::bench::run(argc, argv, minfer::measure);
}
