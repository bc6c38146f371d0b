#include "backend/cpu/cpu_backend.h"

#include <numeric>

#include "backend/cpu/rig.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

TEST(CpuBackend, AFreedBufferIsHandedOutForItsExactSizeOnly) {
    auto backend = make_cpu_backend();
    const auto first = *backend->alloc(100);
    const auto second = *backend->alloc(100);
    EXPECT_NE(first, second);
    backend->free(first);
    EXPECT_NE(*backend->alloc(99), first);
    EXPECT_NE(*backend->alloc_fresh(100), first);
    EXPECT_EQ(*backend->alloc(100), first);
    EXPECT_EQ(backend->pool_count(), 4u);
    EXPECT_EQ(backend->pool_bytes(), 399u);
}

TEST(CpuBackend, BuffersAreAlignedToCacheLines) {
    auto backend = make_cpu_backend();
    for (const size_t bytes : {0, 1, 63, 64, 1000}) {
        const auto id = *backend->alloc(bytes);
        const auto view = backend->host_view({.id = id, .bytes = bytes});
        EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data()) % 64, 0u);
    }
}

TEST(CpuBackend, AnImpossibleAllocationIsAnError) {
    auto backend = make_cpu_backend();
    for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 4}) {
        const auto refused = backend->alloc(bytes);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().fault, Fault::OutOfMemory);
    }
    EXPECT_EQ(backend->pool_count(), 0u);
}

TEST(CpuBackend, ReadAndWriteWantEqualSizes) {
    auto backend = make_cpu_backend();
    const auto ref = BufRef{.id = *backend->alloc(16), .offset = 4, .bytes = 8};
    const auto bytes = std::vector<std::byte>(8, std::byte{7});
    ASSERT_TRUE(backend->write(ref, bytes));
    auto back = std::vector<std::byte>(8);
    ASSERT_TRUE(backend->read(ref, back));
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(backend->write(ref, std::span(bytes).first(7)).error().what,
              "7 bytes written to a buffer of 8");
    EXPECT_EQ(backend->read(ref, std::span(back).first(7)).error().what,
              "7 bytes read from a buffer of 8");
}

TEST(CpuBackend, CellsMoveInBothDirectionsWhenTheyOverlap) {
    auto rig = Rig();
    for (const auto& [to, from] : {std::pair{1, 3}, std::pair{3, 1}}) {
        auto cells = std::vector<int32_t>(20);
        std::iota(cells.begin(), cells.end(), 0);
        const auto region = rig.ints(cells);
        ASSERT_TRUE(rig.backend().copy_cells(region, to, from, 5, 8));
        auto want = cells;
        std::copy_n(cells.begin() + from * 2, 10, want.begin() + to * 2);
        auto got = std::vector<int32_t>(20);
        ASSERT_TRUE(rig.backend().read(region, std::as_writable_bytes(std::span(got))));
        EXPECT_EQ(got, want);
    }
}

TEST(CpuBackend, AMoveOfCellsOutOfTheRegionIsRefused) {
    auto rig = Rig();
    const auto region = rig.ints(std::vector<int32_t>(20));
    for (const auto& [to, from, rows] :
         {std::array{6, 0, 5}, std::array{0, 6, 5}, std::array{0, 0, 11}})
        EXPECT_FALSE(rig.backend().copy_cells(region, to, from, rows, 8));
    EXPECT_TRUE(rig.backend().copy_cells(region, 5, 0, 5, 8));
}

TEST(CpuBackend, WeightsAreBorrowedByNameAndAKnownNameIsKept) {
    auto backend = make_cpu_backend();
    const auto bytes = random_rows(DType::Q8_0, 64 * 3, 1);
    auto weight = Weight{
        .name = "blk.0.attn_q.weight", .dtype = DType::Q8_0, .shape = {64, 3, 1, 1}, .data = bytes};
    ASSERT_TRUE(backend->register_weight(weight));
    const auto id = backend->find_weight(weight.name);
    ASSERT_TRUE(id);
    ASSERT_TRUE(backend->register_weight(weight));
    EXPECT_EQ(backend->find_weight(weight.name), id);
    EXPECT_FALSE(backend->find_weight("blk.0.attn_k.weight"));
    EXPECT_EQ(backend->weights_bytes(), bytes.size());
}

TEST(CpuBackend, AKnownNameWithOtherDataIsRefused) {
    auto backend = make_cpu_backend();
    const auto bytes = random_rows(DType::F32, 4 * 4, 1), copy = bytes;
    const auto weight =
        Weight{.name = "w", .dtype = DType::F32, .shape = {4, 4, 1, 1}, .data = std::span(bytes)};
    ASSERT_TRUE(backend->register_weight(weight));
    // Equal bytes elsewhere are other data: the first are borrowed and may go away.
    auto elsewhere = weight;
    elsewhere.data = copy;
    auto reshaped = weight;
    reshaped.shape = {2, 8, 1, 1};
    auto retyped = weight;
    retyped.dtype = DType::F16;
    for (const auto& other : {elsewhere, reshaped, retyped}) {
        const auto done = backend->register_weight(other);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::BadInput);
        EXPECT_NE(done.error().what.find("weight 'w' is registered already, as F32 [4, 4]"),
                  std::string::npos)
            << done.error().what;
    }
    EXPECT_TRUE(backend->register_weight(weight));
    EXPECT_EQ(backend->weights_bytes(), bytes.size());
}

TEST(CpuBackend, WeightsThatCannotRunAreRefusedByName) {
    auto backend = make_cpu_backend();
    const auto bytes = std::vector<std::byte>(292);
    const struct {
        Weight weight;
        const char* message;
    } bad[] = {
        {{.name = "w", .dtype = DType::IQ2_XXS, .shape = {256, 2, 1, 1}},
         "weight 'w': type IQ2_XXS does not run, these do: F32 F16"},
        {{.name = "w", .dtype = DType::Q8_K, .shape = {256, 2, 1, 1}}, "type Q8_K does not run"},
        {{.name = "n", .dtype = DType::I32, .shape = {4, 1, 1, 1}}, "weights are F32, found I32"},
        {{.name = "w", .dtype = DType::F32, .shape = {73, 2, 1, 1}, .data = bytes},
         "F32 [73, 2] takes 584 bytes, found 292"},
        {{.name = "w",
          .dtype = DType::F32,
          .shape = {2, 2, 1, 1},
          .data = std::span(bytes).subspan(1, 16)},
         "not aligned to 4 bytes"},
    };
    for (const auto& [weight, message] : bad) {
        const auto done = backend->register_weight(weight);
        ASSERT_FALSE(done);
        EXPECT_NE(done.error().what.find(message), std::string::npos) << done.error().what;
    }
}

TEST(CpuBackend, ScratchStopsGrowingOnceTheLargestProductWasSeen) {
    for (const auto mode : {CpuActivations::Quantized, CpuActivations::F32}) {
        auto rig = Rig({.threads = 2, .activations = mode});
        rig.weight("w", DType::Q4_0, {512, 8, 1, 1}, random_rows(DType::Q4_0, 512 * 8, 1));
        const auto matmul =
            op::MatMul{.weight = "w", .dtype = DType::Q4_0, .in_dim = 512, .out_dim = 8};
        const auto x = random_floats(512 * 4, 2);
        rig.run(matmul, {8, 4, 1, 1}, {rig.floats(x)});
        const auto held = rig.backend().scratch_bytes();
        for (size_t n = 1; n <= 4; ++n)
            rig.run(matmul, {8, n, 1, 1}, {rig.floats(std::span(x).first(512 * n))});
        EXPECT_EQ(rig.backend().scratch_bytes(), held);
    }
}

TEST(CpuBackend, ErrorsNameTheNodeItsOperationTypeAndShape) {
    auto rig = Rig();
    const auto error = rig.run(op::MatMul{.weight = "w", .dtype = DType::Q6_K, .in_dim = 256},
                               {5, 2, 1, 1}, {rig.floats(random_floats(512, 1))})
                           .error;
    EXPECT_EQ(
        error,
        "node 'tested' (MatMul Q6_K, shape [5, 2, 1, 1], source of 2048 bytes): weight 'w' is "
        "not registered");
}

TEST(CpuBackend, ClaimsWhatItRuns) {
    auto backend = make_cpu_backend();
    EXPECT_TRUE(backend->supports(op::Input{}, DType::I32));
    EXPECT_TRUE(backend->supports(op::Scale{}, DType::F32));
    EXPECT_FALSE(backend->supports(op::Scale{}, DType::I32));
    EXPECT_TRUE(backend->supports(op::MatMul{.dtype = DType::Q2_K}, DType::F32));
    EXPECT_FALSE(backend->supports(op::MatMul{.dtype = DType::MXFP4}, DType::F32));
    EXPECT_FALSE(backend->supports(op::Embed{.dtype = DType::IQ1_S}, DType::F32));
    EXPECT_TRUE(backend->supports_attn_span());
    EXPECT_TRUE(backend->supports_swiglu_fusion());
    for (const auto format : {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0})
        EXPECT_TRUE(backend->reads_kv(format));
}

}  // namespace
}  // namespace minfer::test
