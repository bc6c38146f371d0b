#include "softmetal/api/timeline.h"

#include <utility>
#include <vector>

namespace softmetal::api {

uint64_t Timeline::value() const {
    const auto lock = MutexLock(mutex_);
    return value_;
}

void Timeline::set(uint64_t value) {
    std::vector<std::function<void(uint64_t)>> due;
    {
        const auto lock = MutexLock(mutex_);
        value_ = value;
        const auto end = handlers_.upper_bound(value);
        for (auto it = handlers_.begin(); it != end; ++it) due.push_back(std::move(it->second));
        handlers_.erase(handlers_.begin(), end);
    }
    changed_.notify_all();
    for (const auto& handler : due) handler(value);
}

void Timeline::wait(uint64_t value) const {
    auto lock = MutexLock(mutex_);
    while (value_ < value) changed_.wait(lock);
}

bool Timeline::wait_for(uint64_t value, std::chrono::milliseconds time) const {
    // A program that means "for ever" passes the largest number, which no clock can add.
    constexpr auto kForever = std::chrono::hours(24 * 365);
    const auto end =
        std::chrono::steady_clock::now() + (time.count() < 0 || time > kForever ? kForever : time);
    auto lock = MutexLock(mutex_);
    while (value_ < value) {
        if (!changed_.wait_until(lock, end)) return value_ >= value;
    }
    return true;
}

void Timeline::when_reached(uint64_t value, std::function<void(uint64_t)> handler) {
    uint64_t now = 0;
    {
        const auto lock = MutexLock(mutex_);
        now = value_;
        if (now < value) {
            handlers_.emplace(value, std::move(handler));
            return;
        }
    }
    handler(now);
}

}  // namespace softmetal::api
