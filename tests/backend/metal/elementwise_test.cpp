#include "backend/metal/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/metal/metal_backend.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

BufRef upload(MetalBackend& backend, std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    const auto id = backend.alloc(bytes.size());
    EXPECT_TRUE(id);
    const auto ref = BufRef{.backend = BackendId::Metal, .id = *id, .bytes = bytes.size()};
    EXPECT_TRUE(backend.write(ref, bytes));
    return ref;
}

TEST(MetalElementwise, FourElementsGoToAThreadAndTheRestToTheLast) {
    EXPECT_EQ(metal::plan_elementwise(1), (metal::Launch{{1}, {256}}));
    EXPECT_EQ(metal::plan_elementwise(1024), (metal::Launch{{1}, {256}}));
    EXPECT_EQ(metal::plan_elementwise(1025), (metal::Launch{{2}, {256}}));
}

TEST(MetalElementwise, AddsBitForBit) {
    const auto backend = make_metal_backend();
    ASSERT_TRUE(backend) << backend.error().what;
    for (const size_t n : {1, 3, 4, 1023, 4097}) {
        const auto a = random_floats(n, 1), b = random_floats(n, 2);
        const BufRef in[] = {upload(**backend, a), upload(**backend, b)};
        const auto out = upload(**backend, std::vector<float>(n));
        const auto node = Node{.name = "sum", .op = op::Add{}, .shape = {n, 1, 1, 1}};
        const auto done = (*backend)->execute({.node = &node, .in = in, .out = out});
        ASSERT_TRUE(done) << done.error().what;
        auto got = std::vector<float>(n);
        const auto read = (*backend)->read(out, std::as_writable_bytes(std::span(got)));
        ASSERT_TRUE(read) << read.error().what;
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], a[i] + b[i]) << n << " at " << i;
    }
}

}  // namespace
}  // namespace minfer::test
