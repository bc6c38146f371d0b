#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "softmetal/base/thread.h"
#include "softmetal/exec/grid.h"
#include "softmetal/exec/worker.h"

namespace softmetal::exec {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

// Less work than this is done by the calling thread alone: waking another takes as long.
constexpr auto kWorthWaking = Nanoseconds(30'000);
// How long a worker keeps a stretch of threadgroups before it asks for the next.
constexpr auto kChunk = Nanoseconds(50'000);

// One run: threadgroups are claimed in chunks by whoever is free.
struct Job {
    const GridPlan& plan;
    uint64_t chunk = 1;
    std::atomic<uint64_t> next = 0;
    std::atomic<bool> has_failed = false;
    std::mutex mutex;  // guards the rest
    std::condition_variable left;
    int helpers = 0;
    Counters counters = {};
    uint64_t failed_at = ~uint64_t{0};
    std::string error;

    explicit Job(const GridPlan& grid) : plan(grid) {}

    bool has_work() const {
        return !has_failed.load(std::memory_order_relaxed) &&
               next.load(std::memory_order_relaxed) < plan.group_count();
    }

    void fail_at(uint64_t position, std::string why) {
        has_failed = true;
        const auto lock = std::lock_guard(mutex);
        if (position >= failed_at) return;
        failed_at = position;
        error = std::move(why);
    }

    // Works until nothing is left. A helper for which there is no memory leaves the work to others.
    void work(bool is_helper) {
        Worker& worker = Worker::of_this_thread();
        if (!worker.begin(plan)) {
            if (!is_helper) fail_at(0, worker.error());
            return;
        }
        const uint64_t count = plan.group_count();
        while (has_work()) {
            const uint64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
            const uint64_t end = std::min(begin + chunk, count);
            for (uint64_t position = begin; position < end; ++position) {
                if (has_failed.load(std::memory_order_relaxed)) break;
                const auto* abandon = plan.launch.abandon;
                if (abandon != nullptr && abandon->load(std::memory_order_relaxed)) {
                    fail_at(position, "abandoned before its end");
                } else if (!worker.run_threadgroup(plan.order.at(position))) {
                    fail_at(position, worker.error());
                }
            }
        }
        worker.end();
        const auto lock = std::lock_guard(mutex);
        counters.barriers += worker.barriers();
        const auto* counter = worker.counter();
        if (counter == nullptr) return;
        counters.read_bytes += counter->read().total;
        counters.read_distinct_bytes += counter->read().distinct;
        counters.read_distinct_in_simdgroup_bytes += counter->read().distinct_in_simdgroup;
        counters.written_bytes += counter->written().total;
        counters.written_distinct_bytes += counter->written().distinct;
        counters.written_distinct_in_simdgroup_bytes += counter->written().distinct_in_simdgroup;
    }
};

}  // namespace

struct Executor::Impl {
    std::mutex mutex;
    std::condition_variable work_came;
    std::deque<Job*> jobs;  // that helpers may join
    bool is_stopping = false;
    // Nanoseconds a thread of a kernel took lately, to judge what a run will cost.
    std::unordered_map<const sm_kernel*, double> costs;
    std::vector<std::thread> threads;

    explicit Impl(int workers) {
        // With fewer than asked for it only takes longer: the caller of run() works too.
        for (int i = 1; i < workers; ++i) {
            auto thread = start_thread([this] { help(); });
            if (!thread) break;
            threads.push_back(*std::move(thread));
        }
    }
    ~Impl() {
        {
            const auto lock = std::lock_guard(mutex);
            is_stopping = true;
        }
        work_came.notify_all();
        for (auto& thread : threads) thread.join();
    }

    Job* job_with_work() {
        const auto found = std::ranges::find_if(jobs, &Job::has_work);
        return found == jobs.end() ? nullptr : *found;
    }

    void help() {
        auto lock = std::unique_lock(mutex);
        for (;;) {
            Job* job = nullptr;
            work_came.wait(lock, [&] { return is_stopping || (job = job_with_work()); });
            if (is_stopping) return;
            {
                const auto job_lock = std::lock_guard(job->mutex);
                ++job->helpers;
            }
            lock.unlock();
            job->work(/*is_helper=*/true);
            {
                const auto job_lock = std::lock_guard(job->mutex);
                if (--job->helpers == 0) job->left.notify_one();
            }
            lock.lock();
        }
    }

    void run(Job& job) {
        const sm_kernel* kernel = job.plan.launch.kernel;
        const auto threads_in = [](Size3 size) { return double(size.x) * size.y * size.z; };
        const double n_threads = threads_in(job.plan.launch.threads);
        const double n_groups = static_cast<double>(job.plan.group_count());
        const auto n_workers = static_cast<double>(threads.size() + 1);
        bool shares = false;
        {
            const auto lock = std::lock_guard(mutex);
            const auto known = costs.find(kernel);
            // An unknown kernel counts as expensive.
            const auto cost = Nanoseconds(known == costs.end() ? 1000 : known->second) * n_threads;
            const double chunks = std::clamp(cost / kChunk, 1.0, n_groups);
            job.chunk = static_cast<uint64_t>(
                std::max(1.0, std::min(n_groups / chunks, n_groups / (4 * n_workers))));
            shares = n_groups > 1 && cost > kWorthWaking && !threads.empty();
            if (shares) jobs.push_back(&job);
        }
        if (shares) work_came.notify_all();

        const auto start = Clock::now();
        job.work(/*is_helper=*/false);
        const auto elapsed = Nanoseconds(Clock::now() - start);
        double helped = 1;
        if (shares) {
            {
                const auto lock = std::lock_guard(mutex);
                std::erase(jobs, &job);
            }
            auto lock = std::unique_lock(job.mutex);
            job.left.wait(lock, [&job] { return job.helpers == 0; });
            helped = n_workers;
        }
        const auto lock = std::lock_guard(mutex);
        if (costs.size() > 4096) costs.clear();  // kernels of modules long gone
        costs[kernel] = elapsed.count() * helped / n_threads;
    }
};

Executor::Executor(int workers) {
    if (workers <= 0) {
        const size_t most = FiberPool::most_pools(GridPlan::kMaxThreads);
        workers = static_cast<int>(std::min<size_t>(std::thread::hardware_concurrency(), most));
    }
    impl_ = std::make_unique<Impl>(workers);
}
Executor::~Executor() = default;

Result<Counters> Executor::run(const Launch& launch) {
    const uint64_t n_threads = uint64_t{launch.threads.x} * launch.threads.y * launch.threads.z;
    if (n_threads == 0) return Counters{.dispatches = 1};
    const auto plan = SOFTMETAL_TRY(GridPlan::of(launch));
    auto job = Job(plan);
    job.counters.dispatches = 1;
    job.counters.threads = n_threads;
    impl_->run(job);
    if (!job.error.empty()) return fail(std::move(job.error));
    return job.counters;
}

}  // namespace softmetal::exec
