// The same bits on every run: repeated, with threadgroups in shuffled order, on one worker and two.

#include <algorithm>
#include <map>

#include "backend/metal/metal_backend.h"
#include "conformance/op_trial.h"
#include "support/software_metal.h"

namespace minfer::test {
namespace {

// Of every family the largest row: the most threadgroups.
std::vector<Row> rows() {
    auto largest = std::map<std::string, Row>();
    const auto size = [](const Row& row) { return elements(row.shape); };
    for (const auto& row : op_rows()) {
        if (row.slow) continue;
        const auto [known, added] = largest.try_emplace(family(row.op), row);
        if (!added && size(row) > size(known->second)) known->second = row;
    }
    auto list = std::vector<Row>();
    for (auto& [name, row] : largest) list.push_back(std::move(row));
    return list;
}

std::vector<Answer> answers(const std::vector<Trial>& trials) {
    auto all = std::vector<Answer>();
    for (const auto& trial : trials) {
        auto backend = make_metal_backend();
        MINFER_ASSERT(backend);
        auto rig = OpRig(*std::move(backend));
        all.push_back(answer(rig, trial));
    }
    return all;
}

std::vector<Trial> trials_on_metal() {
    const auto backend = make_metal_backend();
    MINFER_ASSERT(backend);
    auto trials = std::vector<Trial>();
    for (const auto& row : rows())
        if ((*backend)->supports(row.op, DType::F32)) trials.push_back(make_trial(row));
    EXPECT_GE(trials.size(), 4u);
    return trials;
}

void expect_same(const std::vector<Trial>& trials, const std::vector<Answer>& got,
                 const std::vector<Answer>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
        const auto what = family(trials[i].op);
        EXPECT_TRUE(std::ranges::equal(got[i].values, want[i].values)) << what;
        EXPECT_TRUE(std::ranges::equal(got[i].k, want[i].k)) << what;
        EXPECT_TRUE(std::ranges::equal(got[i].v, want[i].v)) << what;
    }
}

TEST(MetalDeterminism, TenRunsGiveTheSameBits) {
    const SoftwareMetal device;
    const auto trials = trials_on_metal();
    const auto first = answers(trials);
    for (int run = 1; run < 10; ++run) expect_same(trials, answers(trials), first);
}

TEST(MetalDeterminism, TheOrderOfThreadgroupsDoesNotShow) {
    SoftwareMetal device;
    const auto trials = trials_on_metal();
    const auto ascending = answers(trials);
    for (const uint64_t seed : {1, 2, 3}) {
        device.set_order_seed(seed);
        expect_same(trials, answers(trials), ascending);
    }
}

TEST(MetalDeterminism, OneWorkerAndTwoGiveTheSameBits) {
    auto trials = std::vector<Trial>();
    auto one = std::vector<Answer>();
    {
        const SoftwareMetal device(true, 1);
        trials = trials_on_metal();
        one = answers(trials);
    }
    const SoftwareMetal device(true, 2);
    expect_same(trials, answers(trials), one);
}

}  // namespace
}  // namespace minfer::test
