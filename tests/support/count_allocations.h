#pragma once
// Replaces operator new by one that counts. Include it in one file of a program of its own.

#include <atomic>
#include <cstdlib>
#include <new>

namespace minfer::test {

inline std::atomic<size_t> allocations = 0;

inline void* counted(void* memory) {
    ++allocations;
    if (memory == nullptr) std::abort();
    return memory;
}

}  // namespace minfer::test

void* operator new(size_t bytes) { return minfer::test::counted(std::malloc(bytes)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
    const auto step = static_cast<size_t>(alignment);
    return minfer::test::counted(std::aligned_alloc(step, (bytes + step - 1) / step * step));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
