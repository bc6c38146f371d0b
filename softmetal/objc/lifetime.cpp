// Birth and death of objects: reference counts, what becomes of a dead object, and how many live.
//
// A destroyed object keeps its memory for a while, with a class that knows it is dead. So a release
// too many, or any message, stops the process with the name of the class instead of corrupting
// something.
#include <cstring>
#include <deque>
#include <mutex>

#include "softmetal/control.h"
#include "softmetal/objc/class.h"

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes)
#endif

namespace softmetal::objc {
namespace {

constexpr intptr_t kDeadReferences = INTPTR_MIN / 2;

// Dead objects whose memory is not yet given back: enough that a mistake shows, bounded so that a
// long run does not grow.
class Quarantine {
  public:
    void add(void* memory, uintptr_t bytes, uint32_t alignment) {
        const std::scoped_lock lock(mutex_);
        held_.push_back({memory, bytes, alignment});
        bytes_ += bytes;
        while (held_.size() > kMaxObjects || bytes_ > kMaxBytes) {
            const Held& oldest = held_.front();
            ASAN_UNPOISON_MEMORY_REGION(oldest.memory, oldest.bytes);
            bytes_ -= oldest.bytes;
            ::operator delete(oldest.memory, std::align_val_t(oldest.alignment));
            held_.pop_front();
        }
    }

  private:
    static constexpr size_t kMaxObjects = 4096;
    static constexpr size_t kMaxBytes = 1 << 20;
    struct Held {
        void* memory;
        uintptr_t bytes;
        uint32_t alignment;
    };
    std::mutex mutex_;
    std::deque<Held> held_;
    size_t bytes_ = 0;
};

[[noreturn]] void stop_dead(const char* what, const Object* object) {
    stop("%s of a released %s (%p)", what, object->isa->name, static_cast<const void*>(object));
}

void destroy(Object* object) {
    static auto* const quarantine = new Quarantine;
    Class* const cls = object->isa;
    cls->destruct(object);
    cls->live.fetch_sub(1, std::memory_order_relaxed);

    // What stays is raw memory with an object's header.
    std::memset(static_cast<void*>(object), 0xdb, cls->instance_bytes);
    auto* const dead = new (static_cast<void*>(object)) Object;
    dead->isa = cls->dead;
    dead->references.store(kDeadReferences, std::memory_order_relaxed);
    ASAN_POISON_MEMORY_REGION(dead + 1, cls->instance_bytes - sizeof(Object));
    quarantine->add(dead, cls->instance_bytes, cls->instance_alignment);
}

}  // namespace

void count_made(Class* cls, Object* object) {
    object->isa = cls;
    cls->live.fetch_add(1, std::memory_order_relaxed);
}

void make_immortal(Object* object) {
    retain(object);
    object->isa->live.fetch_sub(1, std::memory_order_relaxed);
}

void retain(Object* object) {
    if (!object) return;
    if (object->isa->flags & kUncounted) return;
    if (object->references.fetch_add(1, std::memory_order_relaxed) <= 0)
        stop_dead("retain", object);
}

void release(Object* object) {
    if (!object) return;
    if (object->isa->flags & kUncounted) return;
    const intptr_t before = object->references.fetch_sub(1, std::memory_order_acq_rel);
    if (before <= 0) stop_dead("release", object);
    if (before == 1) destroy(object);
}

bool retain_if_alive(Object* object) {
    intptr_t count = object->references.load(std::memory_order_relaxed);
    while (count > 0) {
        if (object->references.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

uintptr_t retain_count(const Object* object) {
    if (object->isa->flags & kUncounted) return UINTPTR_MAX;
    return static_cast<uintptr_t>(object->references.load(std::memory_order_relaxed));
}

}  // namespace softmetal::objc

std::vector<softmetal::LiveObjects> softmetal::live_objects() {
    std::vector<LiveObjects> result;
    objc::for_each_class(
        [](objc::Class* cls, void* context) {
            const int64_t live = cls->live.load(std::memory_order_relaxed);
            if (live == 0) return;
            static_cast<std::vector<LiveObjects>*>(context)->push_back(
                {cls->name, static_cast<uint64_t>(live)});
        },
        &result);
    return result;
}
