#pragma once
// The GPU: its queue, its kernel library, its memory and its limits. Knows nothing of graphs.

#include <Metal/Metal.hpp>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/metal/device/launch.h"
#include "base/result.h"

extern "C" {  // of the Objective-C runtime; no header that metal-cpp includes has them
void* objc_autoreleasePoolPush();
void objc_autoreleasePoolPop(void* pool);
}

namespace minfer::metal {

// Asked of the device once; nothing here is guessed.
struct DeviceLimits {
    size_t threadgroup_bytes = 0;
    size_t buffer_bytes = 0;       // of one buffer
    size_t working_set_bytes = 0;  // recommended not to exceed
};

// A kernel ready to run.
struct Pipeline {
    NS::SharedPtr<MTL::ComputePipelineState> state;
    std::string name;
    size_t max_threads = 0;   // of a threadgroup
    size_t shared_bytes = 0;  // threadgroup memory that the kernel itself declares
};

using Buffer = NS::SharedPtr<MTL::Buffer>;

// A window of a buffer, what kernels are given.
struct Slice {
    MTL::Buffer* buffer = nullptr;
    size_t offset = 0, bytes = 0;

    std::byte* host() const { return static_cast<std::byte*>(buffer->contents()) + offset; }
    // From `begin` on, `count` bytes.
    Slice part(size_t begin, size_t count) const { return {buffer, offset + begin, count}; }
};

class Device {
  public:
    // The system's default device with the library at `library`, or the built-in one when that is
    // empty. Device when there is no device; NotFound, Io, BadInput or Device naming the path of a
    // library that does not load.
    static Result<std::unique_ptr<Device>> create(const std::string& library);

    // For launches whose largest threadgroup has so many threads and so much memory besides what
    // the kernel declares. NotFound for a name the library does not have, Device for a kernel that
    // cannot be built; Unsupported, with both numbers, where its SIMD groups are not kSimdWidth
    // wide or the threadgroup does not fit.
    Result<Pipeline> pipeline(std::string_view kernel, size_t threads,
                              size_t shared_bytes = 0) const;
    std::vector<std::string> kernel_names() const;  // of the library, in no order

    // Unsupported when a threadgroup of the launch has more threads or memory than the kernel may
    // have here, with both numbers.
    Result<> check_launch(const Pipeline& pipeline, const Launch& launch) const;

    // Shared memory, zeroed; `bytes` > 0. OutOfMemory with the size.
    Result<Buffer> new_buffer(size_t bytes) const;
    // The same, holding a copy of `bytes`.
    Result<Buffer> copy(std::span<const std::byte> bytes) const;
    // The host's own pages, not copied: 16 KiB aligned base and size, which outlive the buffer.
    Result<Buffer> wrap(std::span<const std::byte> pages) const;

    const DeviceLimits& limits() const { return limits_; }
    std::string name() const;
    bool has_unified_memory() const { return device_->hasUnifiedMemory(); }
    MTL::CommandQueue* queue() const { return queue_.get(); }
    MTL::Device* handle() const { return device_.get(); }

  private:
    Device() = default;
    Result<> check_size(size_t bytes) const;
    Result<> check_threadgroup(const Pipeline& pipeline, size_t threads, size_t shared_bytes) const;

    NS::SharedPtr<MTL::Device> device_;
    NS::SharedPtr<MTL::CommandQueue> queue_;
    NS::SharedPtr<MTL::Library> library_;
    std::string library_path_;  // empty: built in
    DeviceLimits limits_;
};

// Objects that Metal hands out autoreleased go away at the end of this scope unless retained. Every
// thread that calls Metal needs one around the call. It is what @autoreleasepool compiles to: an
// NS::AutoreleasePool would be an object more for each operation.
class AutoreleaseScope {
  public:
    AutoreleaseScope() : pool_(objc_autoreleasePoolPush()) {}
    ~AutoreleaseScope() { objc_autoreleasePoolPop(pool_); }
    AutoreleaseScope(const AutoreleaseScope&) = delete;
    AutoreleaseScope& operator=(const AutoreleaseScope&) = delete;

  private:
    void* pool_;
};

// What an error of Metal says, with its domain's code.
std::string describe(const NS::Error* error);

}  // namespace minfer::metal
