// How fast the CPU decodes over a long context: attention of one token over every cell of a layer,
// in each format of the cache, which take turns. Layers take turns too, so that cells come from
// memory as a model's do. The bound is memory: GB/s of cells against what the machine can read.
//
//   build/<preset>/bin/bench_cpu_attention [--filter q8_0]

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "bench/timing.h"
#include "support/random_data.h"

namespace minfer {
namespace {

struct Shape {
    const char* model;
    size_t n_head, n_head_kv, head_dim;
};
constexpr Shape kShapes[] = {{"0.5B", 14, 2, 64}, {"7B", 28, 4, 128}};
constexpr size_t kBytesInFlight = size_t{128} << 20;

class Decoding {
  public:
    static Result<std::shared_ptr<Decoding>> create(Shape shape, KvFormat format, size_t n_ctx,
                                                    int threads, size_t bytes_in_flight) {
        auto made = std::make_shared<Decoding>();
        made->backend_ = make_cpu_backend({.threads = threads});
        MINFER_TRY(made->fill(shape, kv_layout(format, shape.n_head_kv * shape.head_dim), n_ctx,
                              bytes_in_flight));
        return made;
    }

    size_t layer_bytes() const { return 2 * layout_.row_bytes * n_ctx_; }

    // The token's cell is stored and every cell attended to, in the next layer.
    Result<> step() {
        const auto& kv = layers_[next_];
        next_ = (next_ + 1) % layers_.size();
        const BufRef stored[] = {own_, own_, last_};
        MINFER_TRY(backend_->execute({.node = &store_, .in = stored, .out = kv.k, .kv = kv}));
        const BufRef in[] = {q_, kv.k, last_, window_};
        return backend_->execute({.node = &attention_, .in = in, .out = out_, .kv = kv});
    }

  private:
    Result<BufRef> fresh(size_t bytes) {
        const auto id = MINFER_TRY(backend_->alloc_fresh(bytes));
        return BufRef{.id = id, .bytes = bytes};
    }
    template <class T>
    Result<BufRef> upload(const std::vector<T>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        const auto ref = MINFER_TRY(fresh(bytes.size()));
        MINFER_TRY(backend_->write(ref, bytes));
        return ref;
    }

    // All cells of every layer, through the store.
    Result<> fill(Shape shape, const KvLayout& layout, size_t n_ctx, size_t bytes_in_flight) {
        layout_ = layout;
        n_ctx_ = n_ctx;
        const auto q_width = shape.n_head * shape.head_dim;
        store_ = Node{.op = op::KvStore{.layout = layout, .n_ctx = n_ctx},
                      .shape = {layout.width, n_ctx, 1, 1}};
        attention_ =
            Node{.op = op::Attention{.n_head = shape.n_head,
                                     .n_head_kv = shape.n_head_kv,
                                     .head_dim = shape.head_dim,
                                     .scale = 1 / std::sqrt(static_cast<float>(shape.head_dim)),
                                     .layout = layout,
                                     .n_ctx = n_ctx},
                 .shape = {q_width, 1, 1, 1}};
        auto cells = std::vector<int32_t>(n_ctx);
        for (size_t c = 0; c < n_ctx; ++c) cells[c] = static_cast<int32_t>(c);
        const auto rows = MINFER_TRY(upload(test::random_floats(layout.width * n_ctx, 1)));
        const auto numbers = MINFER_TRY(upload(cells));
        const BufRef all[] = {rows, rows, numbers};
        for (size_t held = 0; held == 0 || held < bytes_in_flight; held += layer_bytes()) {
            const auto k = MINFER_TRY(fresh(layer_bytes() / 2));
            const auto v = MINFER_TRY(fresh(layer_bytes() / 2));
            layers_.push_back({.k = k, .v = v});
            MINFER_TRY(
                backend_->execute({.node = &store_, .in = all, .out = k, .kv = layers_.back()}));
        }
        const auto last = static_cast<int32_t>(n_ctx - 1);
        own_ = MINFER_TRY(upload(test::random_floats(layout.width, 2)));
        last_ = MINFER_TRY(upload(std::vector{last}));
        q_ = MINFER_TRY(upload(test::random_floats(q_width, 3)));
        window_ = MINFER_TRY(upload(std::vector{0, last + 1}));
        out_ = MINFER_TRY(fresh(q_width * sizeof(float)));
        return {};
    }

    std::unique_ptr<Backend> backend_;
    KvLayout layout_;
    size_t n_ctx_ = 0, next_ = 0;
    Node store_, attention_;
    std::vector<KvPair> layers_;
    BufRef own_, last_, q_, window_, out_;
};

Result<> measure(bench::Bench& bench) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    const auto lengths = bench.smoke() ? std::vector<size_t>{64} : std::vector<size_t>{1024, 8192};
    const auto in_flight = bench.smoke() ? 0 : kBytesInFlight;
    const auto threads = cores == 1 ? std::vector{1} : std::vector{1, cores};
    for (const auto& shape : kShapes)
        for (const auto n_ctx : lengths)
            for (const auto n_threads : threads) {
                auto group = std::vector<bench::Candidate>();
                for (const auto format : {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0})
                    group.push_back(
                        {.name = fmt::format("{}/{}/cells:{}/threads:{}", shape.model, name(format),
                                             n_ctx, n_threads),
                         .make = [=]() -> Result<bench::Case> {
                             const auto decoding = MINFER_TRY(
                                 Decoding::create(shape, format, n_ctx, n_threads, in_flight));
                             const auto bytes = static_cast<double>(decoding->layer_bytes());
                             return bench::Case{.step = [=] { return decoding->step(); },
                                                .rates = {{"GB/s", bytes / 1e9}}};
                         }});
                MINFER_TRY(bench.compare(group));
            }
    return {};
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) { return minfer::bench::run(argc, argv, minfer::measure); }
