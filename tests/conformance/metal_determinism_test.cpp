// The same bits on every run: repeated, with threadgroups in shuffled order, on one worker and two.

#include <algorithm>
#include <map>

#include "backend/metal/metal_backend.h"
#include "conformance/op_trial.h"
#include "support/software_metal.h"

namespace minfer::test {
namespace {

struct Case {
    std::string what;
    Trial trial;
    MetalOptions options = {};
    std::string kernel = {};  // that has to run; empty: not said
};

// Of every family the largest row: the most threadgroups. Of products that is one of matrix tiles.
std::vector<Row> largest_rows() {
    auto largest = std::map<std::string, Row>();
    const auto size = [](const Row& row) { return elements(row.shape); };
    for (const auto& row : op_rows()) {
        if (row.slow || (std::holds_alternative<op::MatMul>(row.op) && row.tokens() < 9)) continue;
        const auto [known, added] = largest.try_emplace(family(row.op), row);
        if (!added && size(row) > size(known->second)) known->second = row;
    }
    auto list = std::vector<Row>();
    for (auto& [name, row] : largest) list.push_back(std::move(row));
    return list;
}

// Products of the matrix-vector kernels: rows long enough that SIMD groups share one where the type
// has them do so, two rounds of threadgroups, and columns for more than one pass.
void add_vector_products(std::vector<Case>& cases) {
    struct Tier {
        size_t n_tokens;
        const char* columns;  // the end of its kernel's name
        MetalOptions options;
    };
    const auto tiers = std::vector<Tier>{
        {1, "", {}}, {5, "_3", {}}, {9, "", {.gemm = false}}, {3, "", {.multi_column = false}}};
    for (const auto dtype : kWeightTypes) {
        auto type = std::string(name(dtype));
        for (auto& c : type) c = static_cast<char>(std::tolower(c));
        const auto op = op::MatMul{.weight = "w", .dtype = dtype, .in_dim = 1280, .out_dim = 37};
        for (const auto& [n_tokens, columns, options] : tiers)
            cases.push_back({.what = fmt::format("{}, {} tokens", family(op), n_tokens),
                             .trial = make_trial({.op = op, .shape = {op.out_dim, n_tokens, 1, 1}}),
                             .options = options,
                             .kernel = fmt::format("mul_mv_{}{}", type, columns)});
    }
}

std::vector<Case> cases_on_metal() {
    const auto backend = make_metal_backend();
    MINFER_ASSERT(backend);
    auto cases = std::vector<Case>();
    for (const auto& row : largest_rows())
        if ((*backend)->supports(row.op, DType::F32))
            cases.push_back({.what = label(row), .trial = make_trial(row)});
    EXPECT_GE(cases.size(), 4u);
    add_vector_products(cases);
    return cases;
}

std::vector<Answer> answers(const std::vector<Case>& cases) {
    auto all = std::vector<Answer>();
    for (const auto& c : cases) {
        auto kernels = std::vector<std::string>();
        auto options = c.options;
        options.trace_labels = [&](std::string_view kernel) { kernels.emplace_back(kernel); };
        auto backend = make_metal_backend(options);
        MINFER_ASSERT(backend);
        auto rig = OpRig(*std::move(backend));
        all.push_back(answer(rig, c.trial));
        if (!c.kernel.empty()) {
            EXPECT_THAT(kernels, testing::Contains(c.kernel)) << c.what;
        }
    }
    return all;
}

void expect_same(const std::vector<Case>& cases, const std::vector<Answer>& got,
                 const std::vector<Answer>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
        const auto& what = cases[i].what;
        EXPECT_TRUE(std::ranges::equal(got[i].values, want[i].values)) << what;
        EXPECT_TRUE(std::ranges::equal(got[i].k, want[i].k)) << what;
        EXPECT_TRUE(std::ranges::equal(got[i].v, want[i].v)) << what;
    }
}

TEST(MetalDeterminism, TenRunsGiveTheSameBits) {
    const SoftwareMetal device;
    const auto cases = cases_on_metal();
    const auto first = answers(cases);
    for (int run = 1; run < 10; ++run) expect_same(cases, answers(cases), first);
}

TEST(MetalDeterminism, TheOrderOfThreadgroupsDoesNotShow) {
    SoftwareMetal device;
    const auto cases = cases_on_metal();
    const auto ascending = answers(cases);
    for (const uint64_t seed : {1, 2, 3}) {
        device.set_order_seed(seed);
        expect_same(cases, answers(cases), ascending);
    }
}

TEST(MetalDeterminism, OneWorkerAndTwoGiveTheSameBits) {
    auto cases = std::vector<Case>();
    auto one = std::vector<Answer>();
    {
        const SoftwareMetal device(true, 1);
        cases = cases_on_metal();
        one = answers(cases);
    }
    const SoftwareMetal device(true, 2);
    expect_same(cases, answers(cases), one);
}

}  // namespace
}  // namespace minfer::test
