// What a class is inside the runtime. Classes are complete when they are defined: a class's table
// holds its own methods and all it inherits, and never changes again, so that sending a message is
// one look into a hash table without any lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "softmetal/objc/object.h"

// A selector: one record per name, so that selectors compare by address.
struct alignas(16) objc_selector {
    const char* name;
    uint64_t unused;  // keeps records 16 bytes apart: the table index is read off the address
};

namespace softmetal::objc {

// Two words; message_*.S reads them.
struct Bucket {
    SEL selector = nullptr;
    IMP imp = nullptr;
};
extern const Bucket kNoMethods[1];

enum ClassFlags : uint32_t {
    kMetaclass = 1,  // its instances are classes
    kUncounted = 2,  // its instances live for ever and have no reference count
    kDead = 4,       // the class that destroyed objects get
    kMissing = 8,    // stands for a class of Apple's that softmetal lacks
};

struct Class {
    Class* isa = nullptr;  // the metaclass
    std::atomic<intptr_t> references = 1;
    // Bucket i is at buckets + (i << 4); a selector starts looking at address & bucket_mask, goes
    // on upwards and ends at the first empty one. There is always one beyond the last.
    const Bucket* buckets = kNoMethods;
    uintptr_t bucket_mask = 0;
    uint32_t n_buckets = 1;

    uint32_t flags = 0;
    const char* name = "NSObject";
    Class* super = nullptr;
    uintptr_t instance_bytes = 0;
    uint32_t instance_alignment = 0;
    Object* (*construct)() = nullptr;     // +alloc; null: made by other objects only
    void (*destruct)(Object*) = nullptr;  // runs the C++ destructor
    Class* dead = nullptr;                // the class of its destroyed instances
    std::atomic<int64_t> live = 0;
};

inline Class* class_from(::Class cls) { return reinterpret_cast<Class*>(cls); }
inline ::Class to_objc(Class* cls) { return reinterpret_cast<::Class>(cls); }
inline Object* as_object(Class* cls) { return reinterpret_cast<Object*>(cls); }
inline bool is_class(const Object* object) { return object->isa->flags & kMetaclass; }

SEL intern(const char* name);                     // sel_registerName without registering classes
IMP find_method(const Class* cls, SEL selector);  // null when there is none
Class* find_class(const char* name);              // null when there is none, stand-ins included

// Found by its name from now on, and stopping the process with it at the first message.
Class* stand_in_class(const char* name);

// All classes in the order of their definition, stand-ins included.
void for_each_class(void (*visit)(Class*, void*), void* context);

}  // namespace softmetal::objc
