// What the tests of Metal's objects share. Only metal-cpp: a test that does not also include
// softmetal/control.h would pass on a Mac.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <Metal/Metal.hpp>

namespace softmetal::test {

inline NS::String* text(const std::string& utf8) {
    return NS::String::string(utf8.c_str(), NS::UTF8StringEncoding);
}
inline std::string text(const NS::String* string) {
    return string ? string->utf8String() : "(nil)";
}
inline std::string description(const NS::Error* error) {
    return error ? text(error->localizedDescription()) : "(no error)";
}

// A device and a queue, and an autorelease pool around each test.
class Metal : public testing::Test {
  protected:
    void SetUp() override {
        pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
        ASSERT_TRUE(device);
        queue = NS::TransferPtr(device->newCommandQueue());
    }
    void TearDown() override {
        queue.reset();
        device.reset();
        pool.reset();
    }

    NS::SharedPtr<MTL::Library> library(const std::string& source,
                                        const MTL::CompileOptions* options = nullptr) {
        NS::Error* error = nullptr;
        auto made = NS::TransferPtr(device->newLibrary(text(source), options, &error));
        EXPECT_TRUE(made) << description(error);
        return made;
    }
    NS::SharedPtr<MTL::ComputePipelineState> pipeline(const std::string& source,
                                                      const std::string& name) {
        const auto from = library(source);
        if (!from) return {};
        const auto function = NS::TransferPtr(from->newFunction(text(name)));
        EXPECT_TRUE(function) << name;
        if (!function) return {};
        NS::Error* error = nullptr;
        auto made = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
        EXPECT_TRUE(made) << description(error);
        return made;
    }
    template <class T>
    NS::SharedPtr<MTL::Buffer> buffer(const std::vector<T>& values) {
        return NS::TransferPtr(device->newBuffer(values.data(), values.size() * sizeof(T),
                                                 MTL::ResourceStorageModeShared));
    }
    NS::SharedPtr<MTL::Buffer> buffer(size_t bytes) {
        return NS::TransferPtr(device->newBuffer(bytes, MTL::ResourceStorageModeShared));
    }
    template <class T>
    static std::vector<T> values(MTL::Buffer* from) {
        std::vector<T> all(from->length() / sizeof(T));
        std::memcpy(all.data(), from->contents(), all.size() * sizeof(T));
        return all;
    }
    // Commits, waits, and gives what went wrong, "" when nothing did.
    static std::string run(MTL::CommandBuffer* commands) {
        commands->commit();
        commands->waitUntilCompleted();
        if (commands->status() == MTL::CommandBufferStatusCompleted) return "";
        return description(commands->error());
    }

    NS::SharedPtr<NS::AutoreleasePool> pool;
    NS::SharedPtr<MTL::Device> device;
    NS::SharedPtr<MTL::CommandQueue> queue;
};

// A page of the size that no-copy buffers are made of.
constexpr size_t kPage = 16384;

inline constexpr const char* kKernels = R"(
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float* a [[buffer(0)]],
                device const float* b [[buffer(1)]],
                device float* out [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + b[i];
}

kernel void fill(device uint* out [[buffer(0)]],
                 constant uint& value [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    out[i] = value;
}

kernel void increment(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] += 1;
}

struct Shape { uint rows; uint columns; float scale; };
kernel void scale(device float* out [[buffer(0)]],
                  constant Shape& shape [[buffer(1)]],
                  uint2 at [[thread_position_in_grid]]) {
    if (at.x < shape.columns && at.y < shape.rows) out[at.y * shape.columns + at.x] *= shape.scale;
}

kernel void sum_groups(device const uint* in [[buffer(0)]],
                       device uint* out [[buffer(1)]],
                       threadgroup uint* shared [[threadgroup(0)]],
                       uint i [[thread_position_in_grid]],
                       uint lane [[thread_index_in_threadgroup]],
                       uint n [[threads_per_threadgroup]],
                       uint group [[threadgroup_position_in_grid]]) {
    shared[lane] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane != 0) return;
    uint total = 0;
    for (uint k = 0; k < n; ++k) total += shared[k];
    out[group] = total;
}

kernel void spin(device uint* out [[buffer(0)]], constant uint& turns [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    uint x = out[i];
    for (uint k = 0; k < turns; ++k) x = x * 1664525u + 1013904223u;
    out[i] = x;
}

struct Table { device uint* data; uint count; };
kernel void through_table(constant Table& table [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i < table.count) table.data[i] = i * i;
}
)";

}  // namespace softmetal::test
