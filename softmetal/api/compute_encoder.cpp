#include "softmetal/api/compute_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "softmetal/api/buffer.h"
#include "softmetal/api/fence.h"
#include "softmetal/api/heap.h"
#include "softmetal/objc/define_class.h"

namespace softmetal::api {
namespace {

constexpr NS::UInteger kMaxSetBytes = 4096;

Extent extent(const MTL::Size& size) { return {size.width, size.height, size.depth}; }

exec::Size3 size3(const Extent& extent) {
    return {static_cast<uint32_t>(extent.x), static_cast<uint32_t>(extent.y),
            static_cast<uint32_t>(extent.z)};
}

exec::Checks executor_checks(Checks checks) {
    switch (checks) {
        case Checks::Off:
            return exec::Checks::Off;
        case Checks::Bounds:
            return exec::Checks::Bounds;
        case Checks::All:
            return exec::Checks::All;
    }
    __builtin_unreachable();
}

}  // namespace

// ---- The argument table -------------------------------------------------------------------------

bool ComputeEncoder::is_index(const char* call, NS::UInteger index, NS::UInteger count) {
    if (index < count) return true;
    misuse(fmt::format("{}: index {} is past the last one, {}", call, index, count - 1));
    return false;
}

void ComputeEncoder::set_pipeline(ComputePipeline* pipeline) {
    if (!is_open("setComputePipelineState")) return;
    if (pipeline == nullptr) return misuse("setComputePipelineState: the pipeline is nil");
    if (pipeline_.get() == pipeline) return;
    if (!is_of_this_device("setComputePipelineState", pipeline->device.get())) return;
    const auto entry = pipeline->code->entry(is_checked());
    if (!entry) return misuse(entry.error());
    entry_ = *entry;
    pipeline_ = objc::Ref<ComputePipeline>::retaining(pipeline);
    buffer->recording.code.push_back(pipeline->code);
    bindings_are_recorded_ = false;
}

void ComputeEncoder::bind(NS::UInteger index, std::byte* base, uint64_t offset, uint64_t length,
                          Allocation* memory) {
    bound_[index] = {.is_bound = true, .offset = offset, .length = length};
    bases_[index] = base;
    addresses_[index] = base + offset;
    memory_[index] = memory;
    bindings_are_recorded_ = false;
}

void ComputeEncoder::unbind(NS::UInteger index) {
    bound_[index] = {};
    bases_[index] = nullptr;
    addresses_[index] = nullptr;
    memory_[index] = nullptr;
    bindings_are_recorded_ = false;
}

void ComputeEncoder::set_buffer(Buffer* used, NS::UInteger offset, NS::UInteger index) {
    if (!is_open("setBuffer") || !is_index("setBuffer", index, SM_MAX_BUFFERS)) return;
    if (used == nullptr) return unbind(index);
    if (!is_of_this_device("setBuffer", used->device.get())) return;
    if (offset > used->length() && is_checked()) {
        const auto& memory = *used->memory;  // without a label it is described by its length
        misuse(fmt::format(
            "setBuffer: offset {} at index {} is past the end of {}{}", offset, index,
            memory.described(),
            memory.label().empty() ? "" : fmt::format(", which has {} bytes", used->length())));
    }
    auto* memory = hold(used);
    bind(index, memory->device(), offset, memory->length(), memory);
}

void ComputeEncoder::set_buffers(Buffer* const* used, const NS::UInteger* offsets,
                                 NS::Range range) {
    for (NS::UInteger i = 0; i < range.length; ++i)
        set_buffer(used[i], offsets[i], range.location + i);
}

void ComputeEncoder::set_buffer_offset(NS::UInteger offset, NS::UInteger index) {
    constexpr const char* kCall = "setBufferOffset";
    if (!is_open(kCall) || !is_index(kCall, index, SM_MAX_BUFFERS)) return;
    if (!bound_[index].is_bound) {
        return misuse(fmt::format("setBufferOffset: nothing is bound at index {}", index));
    }
    const uint64_t length = bound_[index].length;
    if (offset > length && is_checked()) {
        misuse(fmt::format("setBufferOffset: offset {} at index {} is past the end of {} bytes",
                           offset, index, length));
    }
    bind(index, bases_[index], offset, length, memory_[index]);
}

void ComputeEncoder::set_bytes(const void* bytes, NS::UInteger length, NS::UInteger index) {
    if (!is_open("setBytes") || !is_index("setBytes", index, SM_MAX_BUFFERS)) return;
    if (bytes == nullptr || length == 0) {
        return misuse(fmt::format("setBytes: no bytes for index {}", index));
    }
    if (length > kMaxSetBytes && is_checked()) {
        misuse(
            fmt::format("setBytes: {} bytes at index {}, and at most {} are allowed; use a buffer",
                        length, index, kMaxSetBytes));
    }
    bind(index, buffer->recording.bytes.add(bytes, length), 0, length, nullptr);
}

void ComputeEncoder::set_threadgroup_memory_length(NS::UInteger length, NS::UInteger index) {
    constexpr const char* kCall = "setThreadgroupMemoryLength";
    constexpr NS::UInteger kMultiple = 16;
    if (!is_open(kCall) || !is_index(kCall, index, SM_MAX_THREADGROUP)) return;
    if (length % kMultiple != 0 && is_checked()) {
        misuse(
            fmt::format("setThreadgroupMemoryLength: {} bytes at index {} are not a multiple of {}",
                        length, index, kMultiple));
    }
    threadgroup_bytes_[index] = (length + kMultiple - 1) / kMultiple * kMultiple;
}

// ---- Dispatches ---------------------------------------------------------------------------------

void ComputeEncoder::dispatch_threadgroups(MTL::Size groups, MTL::Size threads) {
    dispatch("dispatchThreadgroups",
             {.in_threads = false,
              .grid = extent(groups),
              .threads_per_threadgroup = extent(threads),
              .buffers = bound_,
              .threadgroup_bytes = threadgroup_bytes_},
             std::nullopt);
}

void ComputeEncoder::dispatch_threads(MTL::Size grid, MTL::Size threads) {
    dispatch("dispatchThreads",
             {.in_threads = true,
              .grid = extent(grid),
              .threads_per_threadgroup = extent(threads),
              .buffers = bound_,
              .threadgroup_bytes = threadgroup_bytes_},
             std::nullopt);
}

void ComputeEncoder::dispatch_indirect(Buffer* from, NS::UInteger offset, MTL::Size threads) {
    constexpr const char* kCall = "dispatchThreadgroups with an indirect buffer";
    constexpr uint64_t kBytes = sizeof(MTL::DispatchThreadgroupsIndirectArguments);
    if (!is_open(kCall)) return;
    if (from == nullptr) return misuse(fmt::format("{}: the buffer is nil", kCall));
    if (offset % 4 != 0 || offset > from->length() || kBytes > from->length() - offset) {
        return misuse(
            fmt::format("{}: {} bytes at offset {} are needed, the offset a multiple of 4, and "
                        "{} has {} bytes",
                        kCall, kBytes, offset, from->memory->described(), from->length()));
    }
    dispatch(kCall,
             {.is_indirect = true,
              .threads_per_threadgroup = extent(threads),
              .buffers = bound_,
              .threadgroup_bytes = threadgroup_bytes_},
             IndirectGrid{.memory = hold(from), .offset = offset});
}

bool ComputeEncoder::is_sound(const char* call, const DispatchRequest& request) {
    const auto report = [&](const std::vector<std::string>& faults) {
        for (const auto& fault : faults) misuse(fmt::format("{}: {}", call, fault));
        return faults.empty();
    };
    const bool keeps_limits = report(find_limit_faults(request, buffer->queue->device->limits));
    return (!is_checked() || report(find_binding_faults(request))) && keeps_limits;
}

void ComputeEncoder::dispatch(const char* call, DispatchRequest request,
                              std::optional<IndirectGrid> indirect) {
    if (!is_open(call)) return;
    if (!pipeline_) return misuse(fmt::format("{}: no pipeline is set", call));
    request.code = pipeline_->code.get();
    request.pipeline_max_threads = pipeline_->max_threads;
    request.static_threadgroup_bytes = pipeline_->static_threadgroup_bytes;
    request.is_multiple_of_width = pipeline_->is_multiple_of_width;
    if (!is_sound(call, request)) return;
    if (!indirect && request.grid.is_empty()) return;  // nothing to do

    if (!bindings_are_recorded_) record_bindings();
    auto& recording = buffer->recording;
    auto& command =
        std::get<Dispatch>(recording.commands.emplace_back(std::in_place_type<Dispatch>));
    command.code = pipeline_->code.get();
    command.tally = pipeline_->tally;
    command.in_threads = request.in_threads;
    command.bindings_begin = bindings_begin_;
    command.bindings_end = static_cast<uint32_t>(recording.bindings.size());
    command.ranges_begin = ranges_begin_;
    command.ranges_end = static_cast<uint32_t>(recording.ranges.size());
    command.indirect = indirect;

    auto& launch = command.launch;
    launch.module = entry_.module;
    launch.kernel = entry_.kernel;
    launch.threads_per_threadgroup = size3(request.threads_per_threadgroup);
    launch.threads = size3(request.grid);
    if (!request.in_threads) {
        launch.threads.x *= launch.threads_per_threadgroup.x;
        launch.threads.y *= launch.threads_per_threadgroup.y;
        launch.threads.z *= launch.threads_per_threadgroup.z;
    }
    launch.buffers = addresses_;
    for (const auto* argument : pipeline_->code->arguments()) {
        if (argument->kind != SM_ARGUMENT_THREADGROUP) continue;
        launch.threadgroup_bytes[argument->index] =
            static_cast<uint32_t>(threadgroup_bytes_[argument->index]);
    }
    launch.checks = executor_checks(buffer->checks);
}

void ComputeEncoder::record_bindings() {
    auto& recording = buffer->recording;
    bindings_begin_ = static_cast<uint32_t>(recording.bindings.size());
    ranges_begin_ = static_cast<uint32_t>(recording.ranges.size());
    bindings_are_recorded_ = true;
    for (const auto* argument : pipeline_->code->arguments()) {
        if (argument->kind != SM_ARGUMENT_BUFFER) continue;
        const auto& bound = bound_[argument->index];
        if (!bound.is_bound) continue;
        const uint64_t left = bound.length - std::min(bound.offset, bound.length);
        auto* memory = memory_[argument->index];
        recording.bindings.push_back(
            {.index = argument->index,
             .writes = argument->is_read_only == 0,
             .memory = memory,
             .offset = bound.offset,
             .bytes = argument->is_reference ? std::min<uint64_t>(left, argument->bytes) : left,
             .name = argument->name});
        if (is_checked()) {
            record_range(bases_[argument->index], bound.length, memory,
                         argument->is_read_only != 0);
        }
    }
    if (!is_checked()) return;
    for (const auto& one : resident_) {
        // Only useResource says what for; anything may be done to the rest.
        record_range(one.memory->device(), one.memory->length(), one.memory,
                     one.reads && !one.writes);
    }
}

void ComputeEncoder::record_range(const void* begin, uint64_t bytes, const Allocation* memory,
                                  bool read_only) {
    auto& recording = buffer->recording;
    const char* label = "";
    if (auto text = memory ? memory->label() : ""; !text.empty()) {
        label = recording.names.emplace_back(std::move(text)).c_str();
    }
    recording.ranges.push_back(
        {.begin = begin, .bytes = bytes, .label = label, .read_only = read_only});
}

// ---- Memory -------------------------------------------------------------------------------------

void ComputeEncoder::memory_barrier_with_scope(MTL::BarrierScope scope) {
    if (is_open("memoryBarrierWithScope")) buffer->add(MemoryBarrier{.scope = scope});
}

void ComputeEncoder::memory_barrier_with_resources(Object* const* resources, NS::UInteger count) {
    if (!is_open("memoryBarrierWithResources")) return;
    auto barrier = MemoryBarrier{};
    for (NS::UInteger i = 0; i < count; ++i) {
        auto* used = objc::as<Buffer>(resources[i]);
        if (used == nullptr) {
            return misuse(
                fmt::format("memoryBarrierWithResources: resource {} is not a buffer", i));
        }
        barrier.resources.push_back(hold(used));
    }
    if (barrier.resources.empty()) return misuse("memoryBarrierWithResources: no resources");
    buffer->add(std::move(barrier));
}

void ComputeEncoder::use_resource(Object* resource, MTL::ResourceUsage usage) {
    if (!is_open("useResource")) return;
    auto* used = objc::as<Buffer>(resource);
    if (used == nullptr) return misuse("useResource: the resource is not a buffer");
    make_resident({.memory = hold(used),
                   .reads = (usage & (MTL::ResourceUsageRead | MTL::ResourceUsageSample)) != 0,
                   .writes = (usage & MTL::ResourceUsageWrite) != 0});
}

void ComputeEncoder::use_resources(Object* const* resources, NS::UInteger count,
                                   MTL::ResourceUsage usage) {
    for (NS::UInteger i = 0; i < count; ++i) use_resource(resources[i], usage);
}

// Which of a heap's buffers the kernels reach, and how, is not told.
void ComputeEncoder::use_heap(Heap* heap) {
    if (!is_open("useHeap")) return;
    if (heap == nullptr) return misuse("useHeap: the heap is nil");
    buffer->hold(heap->memory, heap);
    make_resident({.memory = heap->memory.get()});
}

void ComputeEncoder::use_heaps(Heap* const* heaps, NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) use_heap(heaps[i]);
}

void ComputeEncoder::make_resident(const ResidentMemory& memory) {
    resident_.push_back(memory);
    buffer->recording.used.push_back(memory);
    bindings_are_recorded_ = false;
}

// ---- Messages -----------------------------------------------------------------------------------

ComputeEncoder* compute_encoder(CommandBuffer* buffer) {
    return compute_encoder_with_type(buffer, MTL::DispatchTypeSerial);
}

ComputeEncoder* compute_encoder_with_type(CommandBuffer* buffer, MTL::DispatchType type) {
    if (!buffer->may_encode("computeCommandEncoder")) return nullptr;
    return objc::autoreleased(
        objc::make<ComputeEncoder>(objc::Ref<CommandBuffer>::retaining(buffer), type));
}

ComputeEncoder* compute_encoder_with_descriptor(CommandBuffer* buffer,
                                                ComputePassDescriptor* descriptor) {
    return compute_encoder_with_type(
        buffer, descriptor ? descriptor->dispatch_type : MTL::DispatchTypeSerial);
}

namespace {

ComputePassDescriptor* copy(ComputePassDescriptor* from) {
    auto made = objc::make<ComputePassDescriptor>();
    made->dispatch_type = from->dispatch_type;
    return made.leak();
}

}  // namespace

void register_compute_encoder() {
    using objc::method;
    objc::define_class<ComputePassDescriptor>(
        "MTLComputePassDescriptor",
        {
            objc::allocatable<ComputePassDescriptor>(),
            objc::class_method<+[] {
                return objc::autoreleased(objc::make<ComputePassDescriptor>());
            }>("computePassDescriptor"),
            objc::property<&ComputePassDescriptor::dispatch_type>("dispatchType",
                                                                  "setDispatchType:"),
            method<&copy>("copy"),
        });
    objc::define_class<ComputeEncoder, Encoder>(
        "MTLComputeCommandEncoder",
        {
            method<+[](ComputeEncoder* e) { return e->dispatch_type; }>("dispatchType"),
            method<&ComputeEncoder::set_pipeline>("setComputePipelineState:"),
            method<&ComputeEncoder::set_buffer>("setBuffer:offset:atIndex:"),
            method<&ComputeEncoder::set_buffers>("setBuffers:offsets:withRange:"),
            method<&ComputeEncoder::set_buffer_offset>("setBufferOffset:atIndex:"),
            method<&ComputeEncoder::set_bytes>("setBytes:length:atIndex:"),
            method<&ComputeEncoder::set_threadgroup_memory_length>(
                "setThreadgroupMemoryLength:atIndex:"),
            method<&ComputeEncoder::dispatch_threadgroups>(
                "dispatchThreadgroups:threadsPerThreadgroup:"),
            method<&ComputeEncoder::dispatch_threads>("dispatchThreads:threadsPerThreadgroup:"),
            method<&ComputeEncoder::dispatch_indirect>(
                "dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:"
                "threadsPerThreadgroup:"),
            method<&ComputeEncoder::memory_barrier_with_scope>("memoryBarrierWithScope:"),
            method<&ComputeEncoder::memory_barrier_with_resources>(
                "memoryBarrierWithResources:count:"),
            method<&ComputeEncoder::use_resource>("useResource:usage:"),
            method<&ComputeEncoder::use_resources>("useResources:count:usage:"),
            method<&ComputeEncoder::use_heap>("useHeap:"),
            method<&ComputeEncoder::use_heaps>("useHeaps:count:"),
            method<&update_fence>("updateFence:"),
            method<&wait_for_fence>("waitForFence:"),
        });
}

}  // namespace softmetal::api
