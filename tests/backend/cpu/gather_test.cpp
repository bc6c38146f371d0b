#include "backend/cpu/rig.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuGather);

TEST_P(CpuGather, EmbedReadsRowsOfEveryType) {
    for (const auto dtype : {DType::F32, DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1,
                             DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K, DType::Q3_K,
                             DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS}) {
        auto rig = Rig(options());
        const auto rows = random_rows(dtype, 256 * 10, 1);
        rig.weight("embd", dtype, {256, 10, 1, 1}, rows);
        const auto ids = std::vector<int32_t>{9, 0, 3, 3};
        const auto got =
            rig.run(op::Embed{.weight = "embd", .dtype = dtype, .width = 256, .vocab = 10},
                    {256, 4, 1, 1}, {rig.ints(ids)});
        EXPECT_EQ(got.error, "");
        const auto all = dequantized(dtype, rows);
        for (size_t t = 0; t < ids.size(); ++t)
            EXPECT_TRUE(
                std::ranges::equal(std::span(got.values).subspan(t * 256, 256),
                                   std::span(all).subspan(static_cast<size_t>(ids[t]) * 256, 256)))
                << name(dtype);
    }
}

TEST_P(CpuGather, AnIdOutsideTheVocabularyIsRefused) {
    auto rig = Rig(options());
    rig.weight("embd", DType::F32, {4, 10, 1, 1}, random_rows(DType::F32, 40, 1));
    const auto embed = op::Embed{.weight = "embd", .dtype = DType::F32, .width = 4, .vocab = 10};
    for (const int32_t id : {10, -1}) {
        const auto ids = std::vector<int32_t>{0, id};
        const auto error = rig.run(embed, {4, 2, 1, 1}, {rig.ints(ids)}).error;
        EXPECT_NE(error.find(fmt::format("index {} at position 1, 10 rows exist", id)),
                  std::string::npos)
            << error;
    }
}

TEST_P(CpuGather, GatherCopiesRowsBitwise) {
    auto rig = Rig(options());
    const auto x = random_floats(5 * 7, 2);
    const auto ids = std::vector<int32_t>{6, 6, 0};
    const auto got = rig.run(op::GatherRows{}, {5, 3, 1, 1}, {rig.floats(x), rig.ints(ids)});
    for (size_t t = 0; t < ids.size(); ++t)
        EXPECT_TRUE(std::ranges::equal(std::span(got.values).subspan(t * 5, 5),
                                       std::span(x).subspan(static_cast<size_t>(ids[t]) * 5, 5)));
}

TEST_P(CpuGather, ARowThatDoesNotExistIsRefused) {
    auto rig = Rig(options());
    const auto error =
        rig.run(op::GatherRows{}, {5, 1, 1, 1},
                {rig.floats(random_floats(35, 2)), rig.ints(std::vector<int32_t>{7})})
            .error;
    EXPECT_NE(error.find("index 7 at position 0, 7 rows exist"), std::string::npos) << error;
}

}  // namespace
}  // namespace minfer::test
