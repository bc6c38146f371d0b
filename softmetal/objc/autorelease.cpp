// Autorelease pools: one stack of objects per thread, cut into pools.
#include "softmetal/objc/autorelease.h"

#include <cstdio>
#include <vector>

#include "softmetal/objc/class.h"

namespace softmetal::objc {
namespace {

struct Pool {
    size_t first;  // index of its oldest object
    uint64_t id;   // never used twice, so that a pool drained twice is noticed
};

struct Stack {
    std::vector<Object*> objects;
    std::vector<Pool> pools;
    // Threads end with their pools drained.
    ~Stack() {
        while (!pools.empty()) pop_innermost();
    }
    void pop_innermost() {
        const size_t first = pools.back().first;
        while (objects.size() > first) {  // releasing one object may autorelease others
            Object* object = objects.back();
            objects.pop_back();
            release(object);
        }
        pools.pop_back();
    }
};
thread_local Stack stack;

uint64_t next_id() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

void warn_once(const Object* object) {
    static std::atomic<bool> warned = false;
    if (warned.exchange(true)) return;
    std::fprintf(stderr,
                 "softmetal: %s (%p) was autoreleased on a thread without an autorelease pool and "
                 "leaks, as do all that follow\n",
                 class_name(object), static_cast<const void*>(object));
}

}  // namespace

uint64_t push_pool() {
    const uint64_t id = next_id();
    stack.pools.push_back({stack.objects.size(), id});
    return id;
}

void pop_pool(uint64_t id) {
    bool found = false;
    for (const Pool& pool : stack.pools) found |= pool.id == id;
    if (!found) {
        stop("an autorelease pool was drained twice, after one around it, or on another thread");
    }
    // Pools inside it end with it. Those an object's destructor opens and closes are gone by then.
    while (true) {
        const bool last = stack.pools.back().id == id;
        stack.pop_innermost();
        if (last) return;
    }
}

void autorelease(Object* object) {
    if (!object || object->isa->flags & kUncounted) return;
    if (object->isa->flags & kDead) {
        stop("autorelease of a released %s (%p)", class_name(object), static_cast<void*>(object));
    }
    if (stack.pools.empty()) return warn_once(object);
    stack.objects.push_back(object);
}

void add_to_pool(uint64_t id, Object* object) {
    for (size_t i = 0; i < stack.pools.size(); ++i) {
        if (stack.pools[i].id != id) continue;
        const bool innermost = i + 1 == stack.pools.size();
        const size_t end = innermost ? stack.objects.size() : stack.pools[i + 1].first;
        stack.objects.insert(stack.objects.begin() + static_cast<ptrdiff_t>(end), object);
        while (++i < stack.pools.size()) ++stack.pools[i].first;
        return;
    }
    stop("addObject: to an autorelease pool that is drained or belongs to another thread");
}

void show_pools() {
    std::fprintf(stderr, "softmetal: %zu autorelease pools on this thread\n", stack.pools.size());
    for (size_t i = 0; i < stack.pools.size(); ++i) {
        const size_t end =
            i + 1 == stack.pools.size() ? stack.objects.size() : stack.pools[i + 1].first;
        std::fprintf(stderr, "  pool %zu\n", i);
        for (size_t k = stack.pools[i].first; k < end; ++k) {
            std::fprintf(stderr, "    %s (%p), %lu references\n", class_name(stack.objects[k]),
                         static_cast<void*>(stack.objects[k]), retain_count(stack.objects[k]));
        }
    }
}

}  // namespace softmetal::objc

void* objc_autoreleasePoolPush() { return reinterpret_cast<void*>(softmetal::objc::push_pool()); }
void objc_autoreleasePoolPop(void* pool) {
    softmetal::objc::pop_pool(reinterpret_cast<uint64_t>(pool));
}
