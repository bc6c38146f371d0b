#pragma once
// std::mutex with the annotations that let -Wthread-safety check who may touch what.
// libstdc++'s own mutex carries none.

#include <condition_variable>
#include <mutex>

#define MINFER_GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#define MINFER_REQUIRES(lock) __attribute__((requires_capability(lock)))

namespace minfer {

class __attribute__((capability("mutex"))) Mutex {
  public:
    void lock() __attribute__((acquire_capability())) { mutex_.lock(); }
    void unlock() __attribute__((release_capability())) { mutex_.unlock(); }

  private:
    std::mutex mutex_;
};

class __attribute__((scoped_lockable)) MutexLock {
  public:
    explicit MutexLock(Mutex& mutex) __attribute__((acquire_capability(mutex))) : mutex_(mutex) {
        mutex_.lock();
    }
    ~MutexLock() __attribute__((release_capability())) { mutex_.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

  private:
    Mutex& mutex_;
};

// Waits on a Mutex the caller holds; check the condition in a loop around wait().
using ConditionVariable = std::condition_variable_any;

}  // namespace minfer
