#include "backend/metal/device/device.h"

#include <cstring>

#include "backend/metal/device/launch.h"
#include "backend/metal/device/library.h"
#include "base/mapped_file.h"

namespace minfer::metal {

std::string describe(const NS::Error* error) {
    if (error == nullptr) return "no reason given";
    const auto* const text = error->localizedDescription();
    return fmt::format("{} (code {})", text != nullptr ? text->utf8String() : "no description",
                       error->code());
}

Result<std::unique_ptr<Device>> Device::create(const std::string& library) {
    const AutoreleaseScope scope;
    auto device = std::unique_ptr<Device>(new Device);
    device->device_ = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    if (!device->device_) return fail(Fault::Device, "no Metal device");
    device->library_ = MINFER_TRY(load_library(device->device_.get(), library));
    device->library_path_ = library;
    device->queue_ = NS::TransferPtr(device->device_->newCommandQueue());
    if (!device->queue_) return fail(Fault::Device, "{}: no command queue", device->name());
    device->limits_ = {.threadgroup_bytes = device->device_->maxThreadgroupMemoryLength(),
                       .buffer_bytes = device->device_->maxBufferLength(),
                       .working_set_bytes = device->device_->recommendedMaxWorkingSetSize()};
    return device;
}

Result<Pipeline> Device::pipeline(std::string_view kernel, size_t threads,
                                  size_t shared_bytes) const {
    const AutoreleaseScope scope;
    const auto name = std::string(kernel);
    const auto function = NS::TransferPtr(
        library_->newFunction(NS::String::string(name.c_str(), NS::UTF8StringEncoding)));
    if (!function)
        return fail(Fault::NotFound, "{} has no kernel '{}'",
                    library_path_.empty() ? "the built-in library"
                                          : fmt::format("kernel library '{}'", library_path_),
                    kernel);
    NS::Error* error = nullptr;
    const auto state = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
    if (!state)
        return fail(Fault::Device, "kernel '{}' cannot be built: {}", kernel, describe(error));
    if (state->threadExecutionWidth() != kSimdWidth)
        return fail(Fault::Unsupported, "kernel '{}' runs {} threads in a SIMD group here, not {}",
                    kernel, state->threadExecutionWidth(), kSimdWidth);
    auto pipeline = Pipeline{.state = state,
                             .name = name,
                             .max_threads = state->maxTotalThreadsPerThreadgroup(),
                             .shared_bytes = state->staticThreadgroupMemoryLength()};
    MINFER_TRY(check_threadgroup(pipeline, threads, shared_bytes));
    return pipeline;
}

std::vector<std::string> Device::kernel_names() const {
    const AutoreleaseScope scope;
    auto names = std::vector<std::string>();
    const auto* const list = library_->functionNames();
    for (NS::UInteger i = 0; i < list->count(); ++i)
        names.emplace_back(list->object<NS::String>(i)->utf8String());
    return names;
}

Result<> Device::check_threadgroup(const Pipeline& pipeline, size_t threads,
                                   size_t shared_bytes) const {
    if (threads > pipeline.max_threads)
        return fail(Fault::Unsupported,
                    "kernel '{}' wants {} threads in a threadgroup, allowed are {}", pipeline.name,
                    threads, pipeline.max_threads);
    if (const auto wanted = pipeline.shared_bytes + shared_bytes;
        wanted > limits_.threadgroup_bytes)
        return fail(Fault::Unsupported,
                    "kernel '{}' wants {} bytes of threadgroup memory, the device has {}",
                    pipeline.name, wanted, limits_.threadgroup_bytes);
    return {};
}

Result<> Device::check_launch(const Pipeline& pipeline, const Launch& launch) const {
    MINFER_ASSERT(launch.groups.count() > 0 && launch.threads.count() > 0);
    MINFER_ASSERT(launch.shared_bytes % 16 == 0);
    return check_threadgroup(pipeline, launch.threads.count(), launch.shared_bytes);
}

Result<Buffer> Device::new_buffer(size_t bytes) const {
    MINFER_TRY(check_size(bytes));
    auto buffer = NS::TransferPtr(device_->newBuffer(bytes, MTL::ResourceStorageModeShared));
    if (!buffer) return fail(Fault::OutOfMemory, "the device has no room for {} bytes", bytes);
    // A cell nobody wrote must not turn a product with 0 into NaN.
    std::memset(buffer->contents(), 0, bytes);
    return buffer;
}

Result<Buffer> Device::copy(std::span<const std::byte> bytes) const {
    MINFER_TRY(check_size(bytes.size()));
    auto buffer = NS::TransferPtr(
        device_->newBuffer(bytes.data(), bytes.size(), MTL::ResourceStorageModeShared));
    if (!buffer)
        return fail(Fault::OutOfMemory, "the device has no room for {} bytes", bytes.size());
    return buffer;
}

Result<> Device::check_size(size_t bytes) const {
    MINFER_ASSERT(bytes > 0);
    if (bytes <= limits_.buffer_bytes) return {};
    return fail(Fault::OutOfMemory, "{} bytes in one buffer, the device allows {}", bytes,
                limits_.buffer_bytes);
}

Result<Buffer> Device::wrap(std::span<const std::byte> pages) const {
    MINFER_ASSERT(reinterpret_cast<uintptr_t>(pages.data()) % kMetalPage == 0 &&
                  pages.size() % kMetalPage == 0);
    auto buffer = NS::TransferPtr(device_->newBuffer(
        const_cast<std::byte*>(pages.data()), pages.size(), MTL::ResourceStorageModeShared,
        static_cast<void (^)(void*, NS::UInteger)>(nullptr)));
    if (!buffer)
        return fail(Fault::OutOfMemory, "the device cannot map {} bytes of the model file",
                    pages.size());
    return buffer;
}

std::string Device::name() const {
    const AutoreleaseScope scope;
    return device_->name()->utf8String();
}

}  // namespace minfer::metal
