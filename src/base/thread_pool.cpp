#include "base/thread_pool.h"

#include <system_error>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace minfer {
namespace {

// Some tens of microseconds: bridges the gap between two kernels of a step, and gives the processor
// back before anyone else misses it.
constexpr int kSpins = 2000;

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
    // The standard library knows no other way to say it than to throw.
    try {
        for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& error) {
        refusal_ = fmt::format("only {} of {} threads could be started: {}", size(), threads,
                               error.code().message());
    }
}

Result<> ThreadPool::is_complete() const {
    if (refusal_.empty()) return {};
    return fail(Fault::OutOfMemory, "{}", refusal_);
}

ThreadPool::~ThreadPool() {
    {
        MutexLock lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void ThreadPool::run(Job job, const void* context) {
    job_ = job;
    context_ = context;
    const auto generation = (state_.load(std::memory_order_relaxed) >> 32) + 1;
    // Sequentially consistent on purpose: either a worker about to sleep sees the new generation,
    // or we see that it sleeps.
    state_.store(generation << 32 | kOpen);
    if (sleepers_.exchange(0) > 0) {
        {
            MutexLock lock(mutex_);
        }  // whoever checked before the store is now inside wait()
        wake_.notify_all();
    }
    job(context, 0);
    state_.fetch_and(~kOpen);
    for (int spin = 0; (state_.load(std::memory_order_acquire) & kInside) != 0; ++spin) {
        if (spin < kSpins)
            pause();
        else
            std::this_thread::yield();
    }
}

bool ThreadPool::is_news(uint64_t state, uint32_t seen) const {
    return stop_.load() || ((state & kOpen) != 0 && static_cast<uint32_t>(state >> 32) != seen);
}

void ThreadPool::work(int worker) {
    uint32_t seen = 0;
    for (;;) {
        for (int spin = 0; spin < kSpins && !is_news(state_.load(), seen); ++spin) pause();
        if (!is_news(state_.load(), seen)) {
            MutexLock lock(mutex_);
            for (;;) {
                sleepers_.fetch_add(1);
                if (is_news(state_.load(), seen)) break;
                wake_.wait(mutex_);
            }
        }
        if (stop_.load()) return;
        auto state = state_.load();
        if (!is_news(state, seen) || !state_.compare_exchange_strong(state, state + 1)) continue;
        seen = static_cast<uint32_t>(state >> 32);
        job_(context_, worker);
        state_.fetch_sub(1, std::memory_order_release);
    }
}

}  // namespace minfer
