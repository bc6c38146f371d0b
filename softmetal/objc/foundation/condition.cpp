// NSCondition, and NSDate, which bounds its wait.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"

namespace softmetal::objc {
namespace {

using Clock = std::chrono::system_clock;

struct Date : Object {
    Clock::time_point time;

    Date() : time(Clock::now()) {}
    explicit Date(Clock::time_point when) : time(when) {}
};

Object* date_from_now(double seconds) {
    // A time too far off for the clock is as good as never.
    constexpr double kCentury = 100.0 * 365 * 24 * 3600;
    const std::chrono::duration<double> delay(std::min(std::max(seconds, -kCentury), kCentury));
    return autoreleased(
        make<Date>(Clock::now() + std::chrono::duration_cast<Clock::duration>(delay)));
}
Object* copy(Object* self) {
    retain(self);
    return self;
}

struct Condition : Object {
    std::mutex mutex;
    std::condition_variable changed;

    void lock() { mutex.lock(); }
    void unlock() { mutex.unlock(); }
    void signal() { changed.notify_one(); }
    void broadcast() { changed.notify_all(); }

    // The caller holds the lock, and holds it again afterwards.
    void wait() {
        std::unique_lock held(mutex, std::adopt_lock);
        changed.wait(held);
        held.release();
    }
    bool wait_until(Date* limit) {  // false: the time came first
        if (!limit) stop("-[NSCondition waitUntilDate:] with a nil date");
        std::unique_lock held(mutex, std::adopt_lock);
        const bool signalled = changed.wait_until(held, limit->time) == std::cv_status::no_timeout;
        held.release();
        return signalled;
    }
};

}  // namespace

void register_condition() {
    define_class<Date>("NSDate", {
                                     allocatable<Date>(),
                                     class_method<&date_from_now>("dateWithTimeIntervalSinceNow:"),
                                     method<&copy>("copy"),
                                 });
    define_class<Condition>("NSCondition", {
                                               allocatable<Condition>(),
                                               method<&Condition::lock>("lock"),
                                               method<&Condition::unlock>("unlock"),
                                               method<&Condition::signal>("signal"),
                                               method<&Condition::broadcast>("broadcast"),
                                               method<&Condition::wait>("wait"),
                                               method<&Condition::wait_until>("waitUntilDate:"),
                                           });
}

}  // namespace softmetal::objc
