#pragma once
// A gate must be able to fail: faults of the kind that real kernels had, put into a copy of the
// kernels' source, and the rows of the op matrix have to see each of them.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "backend/metal/metal_backend.h"

namespace minfer::test {

struct Mutation {
    const char* name;
    std::string_view from, to;  // every occurrence, of which there has to be one
    std::string_view seen_by;   // the family of rows that has to notice
    std::string_view type;      // the weight type whose kernels are kept; compiling all takes long
    MetalOptions options = {};
    uint64_t orders = 0;  // shuffled orders of threadgroups to run in besides the ascending one
};

inline void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

// The name of a test of one of them, of any type that has a name.
template <class Named>
std::string mutation_name(const testing::TestParamInfo<Named>& info) {
    return info.param.name;
}

// The rows of the mutation's family complain about the mutated kernels.
void expect_seen(const Mutation& mutation);
// The control arm: the same way, nothing changed, and nobody complains.
void expect_right_as_it_is(std::string_view wanted, std::string_view type,
                           const MetalOptions& options = {}, uint64_t orders = 0);

}  // namespace minfer::test
