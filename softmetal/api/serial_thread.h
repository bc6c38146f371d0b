// A thread that runs tasks one after the other, in the order they were added. What runs handlers
// and compiles in the background.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "softmetal/base/mutex.h"
#include "softmetal/base/result.h"

namespace softmetal::api {

class SerialThread {
  public:
    SerialThread();
    // Runs what was added, then ends. On the thread itself (a task dropped the last reference) it
    // does not wait.
    ~SerialThread();
    SerialThread(const SerialThread&) = delete;
    SerialThread& operator=(const SerialThread&) = delete;

    // Starts the thread, if it does not run yet.
    Result<> start();

    // Starts the thread. Where that cannot be, the caller runs the task, before this returns:
    // whoever cannot have that has called start().
    void add(std::function<void()> task);

    // True on any SerialThread: code there must not wait for tasks to run.
    static bool is_current();

  private:
    struct State {
        Mutex mutex;
        Condition changed;
        std::deque<std::function<void()>> tasks SOFTMETAL_GUARDED_BY(mutex);
        bool ends SOFTMETAL_GUARDED_BY(mutex) = false;
    };
    static void run(State& state);

    std::shared_ptr<State> state_;
    Mutex mutex_;
    bool started_ SOFTMETAL_GUARDED_BY(mutex_) = false;  // stays true when thread_ moves away
    std::thread thread_ SOFTMETAL_GUARDED_BY(mutex_);
};

}  // namespace softmetal::api
