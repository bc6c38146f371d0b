#include "backend/cpu/memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace minfer::cpu {

// More than a machine has: refused here, because some allocators abort instead of saying no.
constexpr size_t kLargest = size_t{1} << 39;

void AlignedBuffer::Free::operator()(std::byte* memory) const { std::free(memory); }

Result<AlignedBuffer> AlignedBuffer::make(size_t bytes) {
    if (bytes > kLargest) return fail(Fault::OutOfMemory, "cannot allocate {} bytes", bytes);
    const auto rounded = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
    auto buffer = AlignedBuffer();
    buffer.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlign, rounded)));
    if (!buffer.memory_) return fail(Fault::OutOfMemory, "cannot allocate {} bytes", bytes);
    buffer.size_ = bytes;
    return buffer;
}

Result<> AlignedBuffer::grow(size_t bytes) {
    if (bytes <= size_) return {};
    *this = MINFER_TRY(make(bytes));
    return {};
}

Result<BufferId> BufferPool::alloc(size_t bytes) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
        if (!buffers_[i].idle || buffers_[i].memory.size() != bytes) continue;
        buffers_[i].idle = false;
        return BufferId{static_cast<uint32_t>(i)};
    }
    return alloc_fresh(bytes);
}

Result<BufferId> BufferPool::alloc_fresh(size_t bytes) {
    auto memory = MINFER_TRY(AlignedBuffer::make(bytes));
    buffers_.push_back({.memory = std::move(memory)});
    bytes_ += bytes;
    return BufferId{static_cast<uint32_t>(buffers_.size() - 1)};
}

void BufferPool::free(BufferId id) {
    const auto index = std::to_underlying(id);
    MINFER_ASSERT(index < buffers_.size() && !buffers_[index].idle);
    buffers_[index].idle = true;
}

std::span<std::byte> BufferPool::view(const BufRef& ref) const {
    const auto index = std::to_underlying(ref.id);
    MINFER_ASSERT(ref.backend == BackendId::Cpu && index < buffers_.size());
    const auto& memory = buffers_[index].memory;
    MINFER_ASSERT(ref.offset <= memory.size() && ref.bytes <= memory.size() - ref.offset);
    return {memory.data() + ref.offset, ref.bytes};
}

}  // namespace minfer::cpu
