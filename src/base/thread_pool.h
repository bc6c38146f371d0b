#pragma once
// Workers that share one indexed loop at a time with the caller. Made for kernels of microseconds
// on machines that are busy with other things: the caller waits only for workers that took part,
// never for one that did not get a processor in time. Running a loop allocates nothing.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace minfer {

class ThreadPool {
  public:
    // `threads` >= 1 counts the caller: ThreadPool(1) starts no worker. Where the system refuses
    // threads, the pool works with fewer.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // OutOfMemory when the system refused a thread (ulimit -u, ulimit -v).
    Result<> is_complete() const;

    int size() const { return static_cast<int>(workers_.size()) + 1; }

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
        const auto take_chunks = [&](int worker) {
            for (;;) {
                const auto begin = next.fetch_add(chunk, std::memory_order_relaxed);
                if (begin >= count) return;
                body(begin, begin + chunk < count ? begin + chunk : count, worker);
            }
        };
        using Loop = decltype(take_chunks);
        run([](const void* context, int worker) { (*static_cast<const Loop*>(context))(worker); },
            &take_chunks);
    }

  private:
    using Job = void (*)(const void* context, int worker);
    // job(context, 0) on this thread, and job(context, worker) on each worker that comes before it
    // has returned.
    void run(Job job, const void* context);
    void work(int worker);
    bool is_news(uint64_t state, uint32_t seen) const;

    // generation << 32 | kOpen | workers inside. A worker may enter while the job is open; the
    // caller closes it when its own part is done and leaves when nobody is inside.
    static constexpr uint64_t kOpen = 1u << 16;
    static constexpr uint64_t kInside = kOpen - 1;
    std::atomic<uint64_t> state_{0};
    Job job_ = nullptr;  // these two are written while nobody is inside and the job is closed
    const void* context_ = nullptr;
    std::atomic<int> sleepers_{0};  // an upper bound since the last wake-up
    std::atomic<bool> stop_{false};
    Mutex mutex_;
    ConditionVariable wake_;
    std::vector<std::thread> workers_;
    std::string refusal_;
};

}  // namespace minfer
