#include "base/thread_pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/result.h"

namespace minfer {
namespace {

// Long enough to bridge the gap between two kernels of a step, short enough not to be seen in a
// profile of an idle program.
constexpr int kSpins = 20000;

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
    MINFER_ASSERT(threads >= 1);
    workers_.reserve(static_cast<size_t>(threads - 1));
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
    {
        MutexLock lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void ThreadPool::run_erased(Erased job, const void* context) {
    if (workers_.empty()) return job(context, 0);
    job_ = job;
    context_ = context;
    unfinished_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    // Sequentially consistent on purpose: either a worker about to sleep sees the new generation,
    // or we see that it sleeps.
    generation_.fetch_add(1);
    if (sleepers_.load() > 0) {
        {
            MutexLock lock(mutex_);
        }  // a sleeper is now inside wait()
        wake_.notify_all();
    }
    job(context, 0);
    for (int spin = 0; unfinished_.load(std::memory_order_acquire) > 0; ++spin) {
        if (spin < kSpins)
            pause();
        else
            std::this_thread::yield();
    }
}

void ThreadPool::work(int worker) {
    unsigned seen = 0;
    for (;;) {
        for (int spin = 0; spin < kSpins && generation_.load() == seen && !stop_.load(); ++spin)
            pause();
        if (generation_.load() == seen) {
            MutexLock lock(mutex_);
            sleepers_.fetch_add(1);
            while (generation_.load() == seen && !stop_.load()) wake_.wait(mutex_);
            sleepers_.fetch_sub(1);
        }
        if (stop_.load()) return;
        seen = generation_.load();
        job_(context_, worker);
        unfinished_.fetch_sub(1, std::memory_order_release);
    }
}

}  // namespace minfer
