#include "softmetal/api/serial_thread.h"

#include <utility>

#include "softmetal/api/fork.h"
#include "softmetal/base/thread.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {
namespace {

thread_local bool on_serial_thread = false;

}  // namespace

SerialThread::SerialThread() : state_(std::make_shared<State>()) {}

SerialThread::~SerialThread() {
    if (is_forked_child()) {
        // The parent's thread is none of this process: nothing may be done to it, not even
        // detaching.
        new std::thread(std::move(thread_));
        return;
    }
    std::thread thread;
    {
        const auto lock = MutexLock(mutex_);
        thread = std::move(thread_);
    }
    if (!thread.joinable()) return;
    {
        const auto lock = MutexLock(state_->mutex);
        state_->ends = true;
    }
    state_->changed.notify_one();
    if (thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
    } else {
        thread.join();  // without a lock: a last task may still add another
    }
}

void SerialThread::add(std::function<void()> task) {
    stop_if_forked("work in the background");
    if (!start()) {
        const auto pool = objc::AutoreleaseScope();
        return task();
    }
    {
        const auto lock = MutexLock(state_->mutex);
        state_->tasks.push_back(std::move(task));
    }
    state_->changed.notify_one();
}

Result<> SerialThread::start() {
    const auto lock = MutexLock(mutex_);
    if (started_) return {};
    thread_ = SOFTMETAL_TRY(start_thread([state = state_] { run(*state); }));
    started_ = true;
    return {};
}

bool SerialThread::is_current() { return on_serial_thread; }

void SerialThread::run(State& state) {
    on_serial_thread = true;
    for (;;) {
        std::function<void()> task;
        {
            auto lock = MutexLock(state.mutex);
            while (state.tasks.empty() && !state.ends) state.changed.wait(lock);
            if (state.tasks.empty()) return;
            task = std::move(state.tasks.front());
            state.tasks.pop_front();
        }
        const auto pool = objc::AutoreleaseScope();
        task();
        task = nullptr;  // what it held ends within the pool's life
    }
}

}  // namespace softmetal::api
