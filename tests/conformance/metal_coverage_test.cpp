// No kernel without a row: what no row of the op matrix dispatches, nothing here holds to anything.

#include <set>

#include "conformance/columns.h"
#include "conformance/op_trial.h"
#include "support/metal_kernels.h"
#include "support/software_metal.h"

namespace minfer::test {
namespace {

// Runs rows until no name is left in `idle`. What is computed is the op matrix's business, so the
// device that all columns share checks nothing meanwhile.
void erase_dispatched(std::set<std::string>& idle, std::set<std::string>& unknown) {
    const auto all = idle;
    const auto list = metal_columns([&](std::string_view label) {
        idle.erase(std::string(label));
        if (!all.contains(std::string(label))) unknown.emplace(label);
    });
    ASSERT_TRUE(list.front().make());  // which switches the checks on, the first time
    const SoftwareMetal unchecked(false);
    for (const auto& column : list) {
        if (column.placement == Placement::Exact) continue;  // the same kernels as another
        for (const auto& row : op_rows()) {
            if (idle.empty()) return;
            if (row.slow || !column.changes(row)) continue;
            auto backend = column.make();
            ASSERT_TRUE(backend) << backend.error().what;
            if (!(*backend)->supports(row.op, DType::F32)) continue;
            auto rig = OpRig(*std::move(backend), column.placement);
            answer(rig, make_trial(row));
        }
    }
}

TEST(MetalCoverage, EveryKernelOfTheLibraryIsDispatchedByARowOfTheOpMatrix) {
    const auto names = metal_kernel_names();
    ASSERT_FALSE(names.empty());
    auto idle = std::set(names.begin(), names.end()), unknown = std::set<std::string>();
    EXPECT_EQ(idle.size(), names.size()) << "two of one name";
    erase_dispatched(idle, unknown);
    const SoftwareMetal checked;
    EXPECT_THAT(idle, testing::IsEmpty()) << "no row dispatches these";
    EXPECT_THAT(unknown, testing::IsEmpty()) << "these are no kernels of the library";
}

}  // namespace
}  // namespace minfer::test
