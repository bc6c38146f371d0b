// Every operation on every backend against loops in double precision. A column that does not run
// is a failure, and so is an operation that a backend neither runs nor has an excuse for.

#include <algorithm>
#include <cmath>
#include <set>

#include "conformance/columns.h"
#include "conformance/op_trial.h"
#include "support/kv_cells.h"

namespace minfer::test {
namespace {

std::unique_ptr<Backend> open(const Column& column) {
    auto backend = column.make();
    if (backend) return *std::move(backend);
    ADD_FAILURE() << "column " << column.name << " does not run: " << backend.error().what;
    return nullptr;
}

bool takes(const Column& column, const Row& row) { return !column.changes || column.changes(row); }

void run_family(const Column& column, std::string_view wanted, bool slow) {
    size_t ran = 0;
    for (const auto& row : op_rows()) {
        if (row.slow != slow || family(row.op) != wanted || !takes(column, row)) continue;
        SCOPED_TRACE(label(row) + " on " + column.name);
        auto backend = open(column);
        ASSERT_TRUE(backend);
        const auto excused = excuse(backend->name(), op_name(row.op));
        const bool supported = backend->supports(row.op, DType::F32);
        ++ran;
        EXPECT_EQ(supported, excused.empty()) << "excuse: " << excused;
        if (!supported || !excused.empty()) continue;
        auto rig = OpRig(std::move(backend), column.placement);
        const auto trial = make_trial(row);
        const auto got = answer(rig, trial);
        EXPECT_THAT(faults(trial, got, half_tiles(column, row)), testing::IsEmpty());
    }
    EXPECT_GT(ran, 0u);
}

struct Field {
    const Column* column;
    std::string family;
};

void PrintTo(const Field& field, std::ostream* out) {
    *out << field.family << " on " << field.column->name;
}

// Those with at least one row.
std::vector<Field> fields(bool slow) {
    auto all = std::vector<Field>();
    for (const auto& column : columns()) {
        auto seen = std::set<std::string>();
        for (const auto& row : op_rows())
            if (row.slow == slow && takes(column, row) && seen.insert(family(row.op)).second)
                all.push_back({&column, family(row.op)});
    }
    return all;
}

std::string field_name(const testing::TestParamInfo<Field>& info) {
    return info.param.column->name + "_" + info.param.family;
}

class OpMatrix : public testing::TestWithParam<Field> {};
TEST_P(OpMatrix, matrix_cases_match_their_reference) {
    run_family(*GetParam().column, GetParam().family, false);
}
INSTANTIATE_TEST_SUITE_P(Columns, OpMatrix, testing::ValuesIn(fields(false)), field_name);

class SlowOpMatrix : public testing::TestWithParam<Field> {};
TEST_P(SlowOpMatrix, matrix_cases_match_their_reference_in_real_shapes) {
    run_family(*GetParam().column, GetParam().family, true);
}
INSTANTIATE_TEST_SUITE_P(Columns, SlowOpMatrix, testing::ValuesIn(fields(true)), field_name);

TEST(OpMatrixRows, EveryOperationHasOne) {
    auto found = std::set<size_t>();
    for (const auto& row : op_rows())
        if (!row.slow) found.insert(row.op.index());
    EXPECT_EQ(found.size(), std::variant_size_v<Op>);
}

TEST(OpMatrixRows, EveryWeightTypeHasThemForEveryOperationThatReadsWeights) {
    auto found = std::set<std::string>();
    for (const auto& row : op_rows())
        if (!row.slow) found.insert(family(row.op));
    for (const auto* op : {"MatMul", "Embed", "FusedQkv", "FusedQkvNorm", "FusedFfn"})
        for (const auto dtype : kWeightTypes)
            EXPECT_TRUE(found.contains(fmt::format("{}_{}", op, name(dtype)))) << op << name(dtype);
}

// A gate must be able to fail: right answers, spoiled a little.
TEST(OpMatrixGate, SeesAnswersThatAreShiftedUnfinishedOrNotFinite) {
    for (const auto& row : op_rows()) {
        if (row.slow) continue;
        const auto trial = make_trial(row);
        if (trial.want.size() < 16 || !trial.k_cells.empty()) continue;
        SCOPED_TRACE(label(row));
        const auto right = std::vector<float>(trial.want.begin(), trial.want.end());
        EXPECT_THAT(faults(trial, {.values = right}, false), testing::IsEmpty());
        auto shifted = right, unfinished = right, nan = right;
        std::ranges::rotate(shifted, shifted.begin() + 1);
        *std::ranges::max_element(unfinished) = 0;
        nan[0] = NAN;
        EXPECT_THAT(faults(trial, {.values = shifted}, false), testing::Not(testing::IsEmpty()));
        EXPECT_THAT(faults(trial, {.values = unfinished}, false), testing::Not(testing::IsEmpty()));
        EXPECT_THAT(faults(trial, {.values = nan}, false), testing::Not(testing::IsEmpty()));
    }
}

TEST(OpMatrixGate, SeesAStoreInTheCellBesideTheRightOne) {
    for (const auto& row : op_rows()) {
        if (!std::holds_alternative<op::KvStore>(row.op) || row.shape[1] < 2) continue;
        const auto trial = make_trial(row);
        const auto store = [&](int32_t beside) {
            auto got = Answer{.k = trial.k_cells, .v = trial.v_cells};
            const auto bytes = trial.layout.row_bytes;
            const auto k = encoded_cells(trial.layout, trial.sources[0].floats);
            const auto v = encoded_cells(trial.layout, trial.sources[1].floats);
            for (size_t t = 0; t < trial.stored_cells.size(); ++t) {
                const auto cell = static_cast<size_t>(trial.stored_cells[t] + beside);
                const auto at = cell % row.shape[1] * bytes;
                std::memcpy(&got.k[at], &k[t * bytes], bytes);
                std::memcpy(&got.v[at], &v[t * bytes], bytes);
            }
            return faults(trial, got, false);
        };
        EXPECT_THAT(store(0), testing::IsEmpty()) << label(row);
        EXPECT_THAT(store(1), testing::SizeIs(2)) << label(row);
    }
}

}  // namespace
}  // namespace minfer::test
