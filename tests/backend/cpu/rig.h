#pragma once
// Runs one operation on a CPU backend: operands in, output or error out. Guard words surround
// every output, so that a write out of bounds fails the test that made it.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"

namespace minfer::test {

inline std::string isa_name(CpuIsa isa) {
    switch (isa) {
        case CpuIsa::Auto:
            return "auto";
        case CpuIsa::Scalar:
            return "scalar";
        case CpuIsa::Avx2:
            return "avx2";
        case CpuIsa::Neon:
            return "neon";
    }
    return "?";
}

class Rig {
  public:
    explicit Rig(CpuOptions options = {}) : backend_(make_cpu_backend(options)) {}

    CpuBackend& backend() { return *backend_; }

    BufRef floats(std::span<const float> values) { return upload(std::as_bytes(values)); }
    BufRef ints(std::span<const int32_t> values) { return upload(std::as_bytes(values)); }
    BufRef upload(std::span<const std::byte> bytes) {
        const auto ref = buffer(bytes.size());
        EXPECT_TRUE(backend_->write(ref, bytes));
        return ref;
    }
    BufRef buffer(size_t bytes) {
        const auto id = backend_->alloc(bytes);
        EXPECT_TRUE(id);
        return {.id = *id, .bytes = bytes};
    }
    std::span<float> view(BufRef ref) {
        const auto bytes = backend_->host_view(ref);
        return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
    }

    // The bytes are kept alive by the rig.
    void weight(std::string name, DType dtype, Shape shape, std::span<const std::byte> bytes) {
        kept_.emplace_back(bytes.begin(), bytes.end());
        const auto done = backend_->register_weight(
            {.name = std::move(name), .dtype = dtype, .shape = shape, .data = kept_.back()});
        EXPECT_TRUE(done) << done.error().what;
    }
    void weight(std::string name, std::span<const float> values) {
        weight(std::move(name), DType::F32, {values.size(), 1, 1, 1}, std::as_bytes(values));
    }

    struct Outcome {
        std::vector<float> values;
        std::string error;  // empty: it worked
    };

    Outcome run(Op op, Shape shape, std::vector<BufRef> in, std::optional<KvPair> kv = {}) {
        constexpr size_t kGuard = 16;
        constexpr float kMark = -1234.5f;
        const auto count = elements(shape);
        auto out = buffer((count + 2 * kGuard) * sizeof(float));
        std::ranges::fill(view(out), kMark);
        const auto whole = out;
        out.offset = kGuard * sizeof(float);
        out.bytes = count * sizeof(float);
        const auto error = execute(std::move(op), shape, in, out, kv);
        const auto all = view(whole);
        for (size_t i = 0; i < kGuard; ++i) {
            EXPECT_EQ(all[i], kMark) << "written " << kGuard - i << " before the output";
            EXPECT_EQ(all[kGuard + count + i], kMark) << "written " << i << " past the output";
        }
        auto values = std::vector<float>(view(out).begin(), view(out).end());
        backend_->free(whole.id);
        return {std::move(values), error};
    }

    // As run(), into the given place; returns the error.
    std::string execute(Op op, Shape shape, std::span<const BufRef> in, BufRef out,
                        std::optional<KvPair> kv = {}) {
        const auto node = Node{.name = "tested", .op = std::move(op), .shape = shape};
        auto weights = std::vector<WeightId>();
        for (const auto name : op_weights(node.op))
            if (const auto id = backend_->find_weight(name)) weights.push_back(*id);
        const auto done =
            backend_->execute({.node = &node, .in = in, .out = out, .kv = kv, .weights = weights});
        return done ? "" : done.error().what;
    }

  private:
    std::unique_ptr<CpuBackend> backend_;
    std::vector<std::vector<std::byte>> kept_;
};

// A test that runs once for every instruction set of this machine.
class EveryIsa : public testing::TestWithParam<CpuIsa> {
  protected:
    CpuOptions options() const { return {.isa = GetParam()}; }
};

inline auto isa_test_name(const testing::TestParamInfo<CpuIsa>& param) {
    return isa_name(param.param);
}

#define MINFER_FOR_EVERY_ISA(Suite)   \
    class Suite : public EveryIsa {}; \
    INSTANTIATE_TEST_SUITE_P(Isa, Suite, testing::ValuesIn(cpu_isas()), isa_test_name)

}  // namespace minfer::test
