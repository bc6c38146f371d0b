// MTLComputeCommandEncoder: the argument table, and dispatches that take a copy of it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <Metal/MTLComputeCommandEncoder.hpp>
#include <Metal/MTLComputePass.hpp>

#include "softmetal/api/compute_pipeline.h"
#include "softmetal/api/dispatch_check.h"
#include "softmetal/api/encoder.h"

namespace softmetal::api {

struct Heap;

struct ComputePassDescriptor : objc::Object {
    MTL::DispatchType dispatch_type = MTL::DispatchTypeSerial;
};

struct ComputeEncoder : Encoder {
    ComputeEncoder(objc::Ref<CommandBuffer> on, MTL::DispatchType type)
        : Encoder(std::move(on), EncoderKind::Compute, type == MTL::DispatchTypeConcurrent),
          dispatch_type(type) {}

    void set_pipeline(ComputePipeline* pipeline);
    void set_buffer(Buffer* used, NS::UInteger offset, NS::UInteger index);
    void set_buffers(Buffer* const* used, const NS::UInteger* offsets, NS::Range range);
    void set_buffer_offset(NS::UInteger offset, NS::UInteger index);
    void set_bytes(const void* bytes, NS::UInteger length, NS::UInteger index);
    void set_threadgroup_memory_length(NS::UInteger length, NS::UInteger index);

    void dispatch_threadgroups(MTL::Size groups, MTL::Size threads);
    void dispatch_threads(MTL::Size grid, MTL::Size threads);
    void dispatch_indirect(Buffer* from, NS::UInteger offset, MTL::Size threads);

    void memory_barrier_with_scope(MTL::BarrierScope scope);
    void memory_barrier_with_resources(Object* const* resources, NS::UInteger count);
    void use_resource(Object* resource, MTL::ResourceUsage usage);
    void use_resources(Object* const* resources, NS::UInteger count, MTL::ResourceUsage usage);
    void use_heap(Heap* heap);
    void use_heaps(Heap* const* heaps, NS::UInteger count);
    // For the rest of this encoder kernels may reach `memory` through addresses they read.
    void make_resident(const ResidentMemory& memory);

    const MTL::DispatchType dispatch_type;

  private:
    bool is_index(const char* call, NS::UInteger index, NS::UInteger count);
    void bind(NS::UInteger index, std::byte* base, uint64_t offset, uint64_t length,
              Allocation* memory);
    void unbind(NS::UInteger index);
    void dispatch(const char* call, DispatchRequest request, std::optional<IndirectGrid> indirect);
    // Finds the faults, reports them, and says whether there were none.
    bool is_sound(const char* call, const DispatchRequest& request);
    void record_bindings();
    void record_range(const void* begin, uint64_t bytes, const Allocation* memory, bool read_only);

    objc::Ref<ComputePipeline> pipeline_;
    KernelCode::Entry entry_;
    std::array<BoundBuffer, SM_MAX_BUFFERS> bound_ = {};
    std::array<std::byte*, SM_MAX_BUFFERS> bases_ = {};
    std::array<void*, SM_MAX_BUFFERS> addresses_ = {};  // base + offset: what kernels get
    std::array<Allocation*, SM_MAX_BUFFERS> memory_ = {};
    std::array<uint64_t, SM_MAX_THREADGROUP> threadgroup_bytes_ = {};
    std::vector<ResidentMemory> resident_;

    // What the last dispatch recorded of its bindings; good as long as nothing was set since.
    bool bindings_are_recorded_ = false;
    uint32_t bindings_begin_ = 0, ranges_begin_ = 0;
};

// Methods of MTLCommandBuffer.
ComputeEncoder* compute_encoder(CommandBuffer* buffer);
ComputeEncoder* compute_encoder_with_type(CommandBuffer* buffer, MTL::DispatchType type);
ComputeEncoder* compute_encoder_with_descriptor(CommandBuffer* buffer,
                                                ComputePassDescriptor* descriptor);

void register_compute_encoder();

}  // namespace softmetal::api
