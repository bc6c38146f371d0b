// dispatch_queue: blocks run on threads of the queue, one at a time for a queue of one's own, side
// by side for the global one. Metal hands shared-event notifications to them.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include <dispatch/dispatch.h>

#include "softmetal/base/thread.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"

namespace softmetal::objc {
namespace {

using Work = std::function<void()>;

// Shared with the queue's threads, which end when they find nothing to do.
struct Jobs {
    std::mutex mutex;
    std::deque<Work> waiting;
    int running = 0;  // threads
    int most = 1;
};

struct DispatchQueue : Object {
    std::shared_ptr<Jobs> jobs = std::make_shared<Jobs>();
    std::string label;
    bool is_main = false;
};

void work_off(const std::shared_ptr<Jobs>& jobs) {
    std::unique_lock lock(jobs->mutex);
    while (!jobs->waiting.empty()) {
        Work work = std::move(jobs->waiting.front());
        jobs->waiting.pop_front();
        lock.unlock();
        {
            const AutoreleaseScope scope;
            work();
            work = nullptr;
        }
        lock.lock();
    }
    --jobs->running;
}

void submit(DispatchQueue* queue, Work work) {
    if (!queue) stop("dispatch to a null queue");
    if (queue->is_main) stop("the main dispatch queue runs nothing: there is no main loop");
    const std::shared_ptr<Jobs> jobs = queue->jobs;
    {
        const std::scoped_lock lock(jobs->mutex);
        jobs->waiting.push_back(std::move(work));
        if (jobs->running == jobs->most) return;
        ++jobs->running;
    }
    // Where no thread can be had, the caller is the queue's thread.
    auto thread = start_thread([jobs] { work_off(jobs); });
    if (!thread) return work_off(jobs);
    thread->detach();
}

void submit_and_wait(DispatchQueue* queue, Work work) {
    std::mutex mutex;
    std::condition_variable finished;
    bool done = false;
    submit(queue, [&] {
        work();
        const std::scoped_lock lock(mutex);
        done = true;
        finished.notify_one();
    });
    std::unique_lock lock(mutex);
    finished.wait(lock, [&] { return done; });
}

DispatchQueue* from(dispatch_queue_t queue) { return reinterpret_cast<DispatchQueue*>(queue); }

dispatch_queue_t immortal(const char* label, int most, bool is_main) {
    Ref<DispatchQueue> queue = make<DispatchQueue>();
    queue->label = label;
    queue->jobs->most = most;
    queue->is_main = is_main;
    make_immortal(queue.get());
    return reinterpret_cast<dispatch_queue_t>(queue.leak());
}

}  // namespace

void register_dispatch_queue() { define_class<DispatchQueue>("OS_dispatch_queue", {}); }

}  // namespace softmetal::objc

namespace rt = softmetal::objc;

void dispatch_retain(const void* object) {
    rt::retain(static_cast<rt::Object*>(const_cast<void*>(object)));
}
void dispatch_release(const void* object) {
    rt::release(static_cast<rt::Object*>(const_cast<void*>(object)));
}

dispatch_queue_t dispatch_queue_create(const char* label, dispatch_queue_attr_t attributes) {
    if (attributes) rt::stop("dispatch_queue_create: only serial queues are implemented");
    auto queue = rt::make<rt::DispatchQueue>();
    queue->label = label ? label : "";
    return reinterpret_cast<dispatch_queue_t>(queue.leak());
}
dispatch_queue_t dispatch_get_global_queue(intptr_t, uintptr_t) {
    static const dispatch_queue_t queue = rt::immortal("global", 64, false);
    return queue;
}
dispatch_queue_t dispatch_get_main_queue() {
    static const dispatch_queue_t queue = rt::immortal("main", 1, true);
    return queue;
}
const char* dispatch_queue_get_label(dispatch_queue_t queue) {
    return queue ? rt::from(queue)->label.c_str() : "";
}
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block) {
    rt::submit(rt::from(queue), rt::Block<void()>(block));
}
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block) {
    rt::submit_and_wait(rt::from(queue), rt::Block<void()>(block));
}
void dispatch_async_f(dispatch_queue_t queue, void* context, dispatch_function_t work) {
    rt::submit(rt::from(queue), [=] { work(context); });
}
void dispatch_sync_f(dispatch_queue_t queue, void* context, dispatch_function_t work) {
    rt::submit_and_wait(rt::from(queue), [=] { work(context); });
}
