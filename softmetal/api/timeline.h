// A number that only work moves on: what stands behind MTLEvent and MTLSharedEvent. A command
// buffer holds it in its SignalEvent and WaitForEvent commands; a queue's thread waits on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "softmetal/base/mutex.h"

namespace softmetal::api {

class Timeline {
  public:
    uint64_t value() const;
    // Wakes every waiter whose value is reached, then runs their handlers on this thread.
    void set(uint64_t value);
    void wait(uint64_t value) const;
    // False when the value is not reached in time.
    bool wait_for(uint64_t value, std::chrono::milliseconds time) const;
    // Runs `handler` once, with the current value, as soon as `value` is reached: at once when it
    // is.
    void when_reached(uint64_t value, std::function<void(uint64_t)> handler);

  private:
    mutable Mutex mutex_;
    mutable Condition changed_;
    uint64_t value_ SOFTMETAL_GUARDED_BY(mutex_) = 0;
    std::multimap<uint64_t, std::function<void(uint64_t)>> handlers_ SOFTMETAL_GUARDED_BY(mutex_);
};

}  // namespace softmetal::api
