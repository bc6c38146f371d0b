// Autorelease pools by number: what NSAutoreleasePool and objc_autoreleasePoolPush stand on. A pool
// belongs to the thread that pushed it.
#pragma once

#include <cstdint>

#include "softmetal/objc/object.h"

namespace softmetal::objc {

uint64_t push_pool();
void pop_pool(uint64_t id);  // and all pools pushed after it
void add_to_pool(uint64_t id, Object* object);
void show_pools();  // to stderr

}  // namespace softmetal::objc
