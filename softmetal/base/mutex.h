// std::mutex with the annotations that let -Wthread-safety check who may touch what.
#pragma once

#include <condition_variable>
#include <mutex>

#define SOFTMETAL_GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#define SOFTMETAL_REQUIRES(lock) __attribute__((requires_capability(lock)))

namespace softmetal {

class __attribute__((capability("mutex"))) Mutex {
  public:
    void lock() __attribute__((acquire_capability())) { mutex_.lock(); }
    void unlock() __attribute__((release_capability())) { mutex_.unlock(); }
    std::mutex& native() { return mutex_; }

  private:
    std::mutex mutex_;
};

class __attribute__((scoped_lockable)) MutexLock {
  public:
    explicit MutexLock(Mutex& mutex) __attribute__((acquire_capability(mutex)))
        : lock_(mutex.native()) {}
    ~MutexLock() __attribute__((release_capability())) {}
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;
    std::unique_lock<std::mutex>& native() { return lock_; }

  private:
    std::unique_lock<std::mutex> lock_;
};

// Waits while the caller holds a MutexLock; check the condition in a loop around wait().
class Condition {
  public:
    void wait(MutexLock& lock) { condition_.wait(lock.native()); }
    // False when the time is up.
    template <class Clock, class Duration>
    bool wait_until(MutexLock& lock, const std::chrono::time_point<Clock, Duration>& end) {
        return condition_.wait_until(lock.native(), end) == std::cv_status::no_timeout;
    }
    void notify_all() { condition_.notify_all(); }
    void notify_one() { condition_.notify_one(); }

  private:
    std::condition_variable condition_;
};

}  // namespace softmetal
