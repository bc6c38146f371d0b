#pragma once
// Workers that run one indexed job at a time together with the caller. Made for kernels of tens of
// microseconds: workers spin briefly between jobs before they sleep, and running a job allocates
// nothing.

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace minfer {

class ThreadPool {
  public:
    // `threads` >= 1 counts the caller: ThreadPool(1) starts no worker.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return static_cast<int>(workers_.size()) + 1; }

    // Calls job(worker) once for each worker in [0, size()), the caller being worker 0, and returns
    // when all have finished. Not reentrant; one caller at a time.
    template <class Job>
    void run(const Job& job) {
        run_erased(
            [](const void* context, int worker) { (*static_cast<const Job*>(context))(worker); },
            &job);
    }

    // Splits [0, count) into chunks of at most `chunk` that idle workers take in turn; calls
    // body(begin, end, worker). Which worker gets which chunk varies, so the result of a chunk must
    // not depend on it.
    template <class Body>
    void parallel_for(size_t count, size_t chunk, const Body& body) {
        if (chunk == 0) chunk = 1;
        if (workers_.empty() || count <= chunk) {
            if (count) body(size_t{0}, count, 0);
            return;
        }
        std::atomic<size_t> next{0};
        run([&](int worker) {
            for (;;) {
                const auto begin = next.fetch_add(chunk, std::memory_order_relaxed);
                if (begin >= count) return;
                body(begin, begin + chunk < count ? begin + chunk : count, worker);
            }
        });
    }

  private:
    using Erased = void (*)(const void* context, int worker);
    void run_erased(Erased job, const void* context);
    void work(int worker);

    // Written by the caller before `generation_` is bumped, read by workers after they see it.
    Erased job_ = nullptr;
    const void* context_ = nullptr;
    std::atomic<unsigned> generation_{0};
    std::atomic<int> unfinished_{0};
    std::atomic<int> sleepers_{0};
    std::atomic<bool> stop_{false};
    Mutex mutex_;
    ConditionVariable wake_;
    std::vector<std::thread> workers_;
};

}  // namespace minfer
