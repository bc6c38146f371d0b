#include "softmetal/api/fork.h"

#include <pthread.h>

#include <atomic>

#include "softmetal/objc/object.h"

namespace softmetal::api {
namespace {

std::atomic<bool> is_child = false;

}  // namespace

void watch_forks() {
    [[maybe_unused]] static const int once =
        pthread_atfork(nullptr, nullptr, [] { is_child.store(true, std::memory_order_relaxed); });
}

bool is_forked_child() { return is_child.load(std::memory_order_relaxed); }

void stop_if_forked(const char* call) {
    if (is_forked_child()) objc::stop("%s: Metal cannot be used after fork without exec", call);
}

}  // namespace softmetal::api
