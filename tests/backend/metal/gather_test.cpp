// Row gathers on the device: bit for bit what tensor/dequantize.h says, every check on.
#include "backend/metal/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "backend/metal/metal_backend.h"
#include "support/op_rig.h"
#include "support/random_data.h"
#include "support/software_metal.h"
#include "support/weight_types.h"

namespace minfer::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class MetalGather : public testing::Test {
  protected:
    OpRig open(Placement placement = Placement::Padded) {
        auto backend = make_metal_backend();
        EXPECT_TRUE(backend) << backend.error().what;
        return OpRig(*std::move(backend), placement);
    }

  private:
    SoftwareMetal device_;
};

std::vector<uint32_t> bits(std::span<const float> values) {
    auto out = std::vector<uint32_t>();
    for (const float value : values) out.push_back(std::bit_cast<uint32_t>(value));
    return out;
}

// The rows `ids` of `table`, which has rows of `width`.
std::vector<float> rows_of(std::span<const float> table, size_t width,
                           std::span<const int32_t> ids) {
    auto out = std::vector<float>();
    for (const auto id : ids) {
        const auto row = table.subspan(static_cast<size_t>(id) * width, width);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

op::Embed embed_op(DType dtype, size_t width, size_t vocab) {
    return {.weight = "embd", .dtype = dtype, .width = width, .vocab = vocab};
}

void expect_exact_rows(OpRig rig, DType dtype, size_t width, size_t vocab,
                       const std::vector<int32_t>& ids) {
    SCOPED_TRACE(fmt::format("{} [{}, {}]", name(dtype), width, vocab));
    const auto rows = random_rows(dtype, width * vocab, 7);
    rig.weight("embd", dtype, {width, vocab, 1, 1}, rows);
    const auto got =
        rig.run(embed_op(dtype, width, vocab), {width, ids.size(), 1, 1}, {rig.ints(ids)});
    EXPECT_THAT(got.error, IsEmpty());
    EXPECT_EQ(bits(got.values), bits(rows_of(dequantized(dtype, rows), width, ids)));
}

TEST(MetalGatherPlan, SixteenWeightsOrFourFloatsGoToAThread) {
    EXPECT_EQ(metal::embed_pieces(16), 1u);
    EXPECT_EQ(metal::embed_pieces(37), 3u);
    EXPECT_EQ(metal::gather_pieces(4), 1u);
    EXPECT_EQ(metal::gather_pieces(5), 2u);
    const auto launch = metal::plan_gather(5, 56);  // 280 threads
    ASSERT_TRUE(launch);
    EXPECT_EQ(*launch, (metal::Launch{{2}, {256}}));
}

TEST(MetalGatherPlan, RefusesMoreThreadsThanAKernelCanCount) {
    EXPECT_TRUE(metal::plan_gather(65535, 65536));
    const auto refused = metal::plan_gather(65536, 65536);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, AllOf(HasSubstr("65536 rows"), HasSubstr("4294966272")));
}

TEST_F(MetalGather, get_rows_q4_k_isolation) {
    expect_exact_rows(open(), DType::Q4_K, 896 / 256 * 256, 50, {0, 49, 17, 17, 3, 48, 1});
    expect_exact_rows(open(Placement::Exact), DType::Q4_K, 256, 2, {1});
}

TEST_F(MetalGather, get_rows_multi_type_isolation) {
    for (const auto dtype : kWeightTypes) {
        const size_t block = info(dtype).block_values;
        for (const auto placement : {Placement::Padded, Placement::Exact}) {
            expect_exact_rows(open(placement), dtype, std::max<size_t>(block, 32), 2, {1, 0});
            expect_exact_rows(open(placement), dtype, block == 256 ? 768 : 96, 33, {32, 0, 5, 5});
        }
    }
}

TEST_F(MetalGather, FloatRowsMayHaveAnyWidth) {
    for (const auto dtype : {DType::F16, DType::BF16, DType::F32})
        for (const size_t width : {1, 3, 15, 17, 37, 513})
            expect_exact_rows(open(), dtype, width, 9, {8, 0, 4});
}

// Every bit pattern there is.
TEST_F(MetalGather, bf16_embed_gather_matches_the_reference) {
    constexpr size_t kWidth = 1024, kVocab = 64;
    auto rows = std::vector<uint16_t>(kWidth * kVocab);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint16_t>(i);
    auto ids = std::vector<int32_t>();
    for (int32_t i = 0; i < static_cast<int32_t>(kVocab); ++i) ids.push_back(i);
    auto want = std::vector<uint32_t>();
    for (const auto stored : rows) want.push_back(uint32_t{stored} << 16);

    const auto gathered = [&](DType dtype) {
        auto rig = open();
        rig.weight("embd", dtype, {kWidth, kVocab, 1, 1}, std::as_bytes(std::span(rows)));
        auto got =
            rig.run(embed_op(dtype, kWidth, kVocab), {kWidth, kVocab, 1, 1}, {rig.ints(ids)});
        EXPECT_THAT(got.error, IsEmpty());
        return bits(got.values);
    };
    EXPECT_EQ(gathered(DType::BF16), want);
    EXPECT_NE(gathered(DType::F16), want) << "the kernel of the other 16-bit type passes as well";
}

TEST_F(MetalGather, RefusesAnIdPastTheVocabulary) {
    auto rig = open();
    rig.weight("embd", DType::Q4_0, {32, 10, 1, 1}, random_rows(DType::Q4_0, 320, 1));
    const auto error_of = [&](std::vector<int32_t> ids) {
        return rig.run(embed_op(DType::Q4_0, 32, 10), {32, 3, 1, 1}, {rig.ints(ids)}).error;
    };
    EXPECT_THAT(error_of({0, 5, 9}), IsEmpty());
    EXPECT_THAT(error_of({0, 5, 10}),
                AllOf(HasSubstr("'tested' (Embed"), HasSubstr("id 10 at position 2"),
                      HasSubstr("'embd'"), HasSubstr("10 rows")));
    EXPECT_THAT(error_of({0, -1, 9}), HasSubstr("id -1 at position 1"));
}

TEST_F(MetalGather, RefusesRowsThatAreNotWholeBlocks) {
    auto rig = open();
    rig.weight("embd", DType::Q4_K, {256, 4, 1, 1}, random_rows(DType::Q4_K, 1024, 1));
    const auto error_of = [&](size_t width) {
        return rig.run(embed_op(DType::Q4_K, width, 4), {width, 1, 1, 1}, {rig.ints({{1}})}).error;
    };
    EXPECT_THAT(error_of(256), IsEmpty());
    EXPECT_THAT(error_of(224), AllOf(HasSubstr("224"), HasSubstr("Q4_K needs multiples of 256")));
}

TEST_F(MetalGather, RefusesATableOfAnotherTypeOrShape) {
    auto rig = open();
    rig.weight("embd", DType::F16, {32, 10, 1, 1}, random_rows(DType::F16, 320, 1));
    const auto error_of = [&](DType dtype, size_t width, size_t vocab) {
        return rig.run(embed_op(dtype, width, vocab), {width, 1, 1, 1}, {rig.ints({{1}})}).error;
    };
    EXPECT_THAT(error_of(DType::F16, 32, 10), IsEmpty());
    EXPECT_THAT(error_of(DType::BF16, 32, 10), HasSubstr("is F16 [32, 10], not BF16 [32, 10]"));
    EXPECT_THAT(error_of(DType::F16, 64, 5), HasSubstr("is F16 [32, 10], not F16 [64, 5]"));
    EXPECT_THAT(error_of(DType::F16, 32, 11), HasSubstr("is F16 [32, 10], not F16 [32, 11]"));
}

TEST_F(MetalGather, RefusesATableThatIsNotOnTheDevice) {
    auto rig = open();
    const auto got = rig.run(embed_op(DType::F32, 8, 4), {8, 1, 1, 1}, {rig.ints({{1}})});
    EXPECT_THAT(got.error, HasSubstr("'embd' is not on the device"));
}

TEST_F(MetalGather, CopiesRowsBitForBit) {
    for (const size_t width : {1, 4, 5, 513, 896}) {
        SCOPED_TRACE(width);
        auto rig = open();
        auto x = random_floats(width * 20, 3);
        x[0] = std::bit_cast<float>(0x7fc00123u);  // a NaN keeps its payload
        const auto ids = std::vector<int32_t>{19, 0, 7, 7};
        const auto got =
            rig.run(op::GatherRows{}, {width, ids.size(), 1, 1}, {rig.floats(x), rig.ints(ids)});
        EXPECT_THAT(got.error, IsEmpty());
        EXPECT_EQ(bits(got.values), bits(rows_of(x, width, ids)));
    }
}

TEST_F(MetalGather, RefusesARowPastTheSource) {
    auto rig = open();
    const auto x = rig.floats(random_floats(12, 3));
    const auto error_of = [&](int32_t id) {
        return rig.run(op::GatherRows{}, {3, 1, 1, 1}, {x, rig.ints({{id}})}).error;
    };
    EXPECT_THAT(error_of(3), IsEmpty());
    EXPECT_THAT(error_of(4), AllOf(HasSubstr("'tested' (GatherRows"),
                                   HasSubstr("id 4 at position 0"), HasSubstr("4 rows")));
    EXPECT_THAT(error_of(-2), HasSubstr("id -2"));
}

TEST_F(MetalGather, RefusesRowsWithoutElements) {
    auto rig = open();
    const auto x = rig.floats(random_floats(12, 3));
    const auto id = rig.ints({{0}});
    const auto out = rig.buffer(12);
    const auto error_of = [&](size_t width, BufRef to) {
        return rig.execute(op::GatherRows{}, {width, 1, 1, 1}, std::vector{x, id}, to);
    };
    auto empty = out;
    empty.bytes = 0;
    EXPECT_THAT(error_of(3, out), IsEmpty());
    EXPECT_THAT(error_of(0, empty), HasSubstr("rows of 0 elements"));
}

TEST_F(MetalGather, RefusesASourceThatIsNotWholeRows) {
    auto rig = open();
    const auto x = rig.floats(random_floats(12, 3));
    const auto error_of = [&](size_t width) {
        return rig.run(op::GatherRows{}, {width, 1, 1, 1}, {x, rig.ints({{0}})}).error;
    };
    EXPECT_THAT(error_of(6), IsEmpty());
    EXPECT_THAT(error_of(5), HasSubstr("48 bytes, not whole rows of 5"));
}

}  // namespace
}  // namespace minfer::test
