#pragma once
// What the operations share while they run: kernels, threads, memory, weights, scratch.

#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/memory.h"
#include "backend/cpu/rope_table.h"
#include "backend/cpu/weights.h"
#include "base/thread_pool.h"

namespace minfer::cpu {

struct Context {
    Context(CpuOptions options, const Kernels& table)
        : kernels(table),
          activations(options.activations),
          threads(options.threads),
          worker_scratch(static_cast<size_t>(options.threads)) {}

    const Kernels& kernels;
    CpuActivations activations;
    ThreadPool threads;
    BufferPool pool;
    WeightTable weights;
    RopeTable rope;

    // Grown when a larger operation than any before comes by, else left alone.
    AlignedBuffer activation_scratch;           // activations of one matrix product, quantised
    std::vector<AlignedBuffer> worker_scratch;  // attention scores, dequantised weight rows

    // At least `bytes` for every worker.
    Result<> grow_worker_scratch(size_t bytes) {
        for (auto& scratch : worker_scratch) MINFER_TRY(scratch.grow(bytes));
        return {};
    }
    template <class T>
    T* worker_memory(int worker) {
        return reinterpret_cast<T*>(worker_scratch[static_cast<size_t>(worker)].data());
    }

    // Memory of a call as `count` elements; BadInput naming both sizes when the buffer is smaller.
    Result<const float*> floats_in(const Call& call, size_t source, size_t count) const;
    Result<const int32_t*> ints_in(const Call& call, size_t source, size_t count) const;
    Result<float*> floats_out(const Call& call, size_t count) const;
    // The `index`-th weight of the call.
    Result<const Weight*> weight(const Call& call, size_t index) const;
    // The same as f32[count].
    Result<const float*> vector_weight(const Call& call, size_t index, size_t count) const;
};

// Elements a worker takes at a time, and below which waking the others costs more than it saves.
constexpr size_t kElementChunk = 8192;

// Runs one(row, worker) for `rows` rows of `width` elements, several rows to a chunk.
template <class One>
void for_rows(ThreadPool& threads, size_t rows, size_t width, const One& one) {
    const auto chunk = width >= kElementChunk ? 1 : kElementChunk / (width ? width : 1);
    threads.parallel_for(rows, chunk, [&](size_t begin, size_t end, int worker) {
        for (size_t row = begin; row < end; ++row) one(row, worker);
    });
}

}  // namespace minfer::cpu
