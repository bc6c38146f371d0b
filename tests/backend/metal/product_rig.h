#pragma once
// Products without a graph: matrices of random weights through metal::matmul().

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backend/metal/context.h"
#include "backend/metal/matmul.h"
#include "support/random_data.h"
#include "support/software_metal.h"
#include "support/weight_types.h"

namespace minfer::test {

// Matrices without weights; those of no rows are not there.
inline metal::Matrices shapes(DType dtype, size_t in_dim, std::array<uint32_t, 3> rows) {
    const auto count = static_cast<size_t>(3 - std::ranges::count(rows, 0u));
    return {.dtype = dtype, .in_dim = in_dim, .rows = rows, .count = count};
}

class Products : public testing::Test {
  protected:
    void open(const MetalOptions& options = {}) {
        auto made = metal::Context::create(options);
        ASSERT_TRUE(made) << made.error().what;
        context_ = *std::move(made);
        for (const auto dtype : kWeightTypes)
            ASSERT_TRUE(context_->kernels.build_for(*context_->device, dtype, options));
    }

    metal::Slice upload(std::span<const std::byte> bytes, size_t before = 4) {
        auto buffer = context_->device->new_buffer(before + bytes.size());
        EXPECT_TRUE(buffer);
        const auto slice =
            metal::Slice{.buffer = buffer->get(), .offset = before, .bytes = bytes.size()};
        std::memcpy(slice.host(), bytes.data(), bytes.size());
        buffers_.push_back(*std::move(buffer));
        return slice;
    }
    metal::Slice upload(std::span<const float> values) { return upload(std::as_bytes(values)); }

    metal::Matrices upload(DType dtype, size_t in_dim, std::array<uint32_t, 3> rows) {
        auto matrices = shapes(dtype, in_dim, rows);
        for (size_t i = 0; i < matrices.count; ++i)
            matrices.weights[i] =
                upload(random_rows(dtype, in_dim * rows[i], static_cast<uint32_t>(20 + i)));
        return matrices;
    }

    std::vector<float> multiply(const metal::Matrices& matrices, std::span<const float> x) {
        const auto n_tokens = x.size() / matrices.in_dim;
        auto got = std::vector<float>(n_tokens * matrices.out_dim());
        const auto out = upload(got);
        auto done = metal::matmul(*context_, matrices, upload(x), n_tokens, out);
        if (done) done = context_->submit();
        EXPECT_TRUE(done) << done.error().what;
        std::memcpy(got.data(), out.host(), out.bytes);
        return got;
    }

    SoftwareMetal device_;
    std::unique_ptr<metal::Context> context_;
    std::vector<metal::Buffer> buffers_;
};

}  // namespace minfer::test
