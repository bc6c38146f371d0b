// NSObject, NSAutoreleasePool: what every object answers to.
#include <cstdio>
#include <string>

#include "softmetal/objc/autorelease.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::objc {
namespace {

// What a plain [[NSObject alloc] init] is.
struct PlainObject : Object {};

// Only asked whether it exists: metal-cpp takes it as a sign that a message will be understood.
struct MethodSignature : Object {};

// Classes answer these too, through their metaclass; `self` may therefore be a class.
Object* do_retain(Object* self) {
    retain(self);
    return self;
}
void do_release(Object* self) { release(self); }
Object* do_autorelease(Object* self) {
    autorelease(self);
    return self;
}
uintptr_t do_retain_count(Object* self) { return retain_count(self); }
Object* init(Object* self) { return self; }
Object* class_of_object(Object* self) { return is_class(self) ? self : as_object(self->isa); }
bool is_kind_of_class(Object* self, Object* cls) {
    return cls && is_kind_of(self, reinterpret_cast<Class*>(cls));
}

bool responds_to(Object* self, SEL selector) {
    return selector && find_method(self->isa, selector) != nullptr;
}
Object* signature_for(Object* self, SEL selector) {
    static MethodSignature* const any = [] {
        Ref<MethodSignature> made = make<MethodSignature>();
        make_immortal(made.get());
        return made.leak();
    }();
    return responds_to(self, selector) ? any : nullptr;
}

uintptr_t hash(Object* self) { return reinterpret_cast<uintptr_t>(self) >> 4; }
bool is_equal(Object* self, Object* other) { return self == other; }
Object* description(Object* self) {
    if (is_class(self)) return string(class_name(self));
    char text[256];
    std::snprintf(text, sizeof(text), "<%s: %p>", class_name(self), static_cast<void*>(self));
    return string(text);
}
Object* debug_description(Object* self) {
    static const SEL selector = intern("description");
    return send<Object*>(self, selector);
}

// +alloc and +new need the class they are sent to.
Object* alloc(Object* self, SEL selector) {
    const Class* cls = reinterpret_cast<Class*>(self);
    if (!cls->construct) stop("+[%s %s] is not implemented", cls->name, selector->name);
    return cls->construct();
}
Object* new_object(Object* self, SEL selector) {
    static const SEL init_selector = intern("init");
    return send<Object*>(alloc(self, selector), init_selector);
}
Object* copy_of_class(Object* self, SEL) { return self; }

// A pool is drained by its release; it has no other owners.
struct AutoreleasePool : Object {
    uint64_t id = 0;
    Object* init() {
        id = push_pool();
        return this;
    }
    void drain() {
        const uint64_t mine = id;
        release(this);
        if (mine) pop_pool(mine);
    }
    void add_object(Object* object) { add_to_pool(id, object); }
    Object* refuse_owner() { stop("an NSAutoreleasePool cannot be retained or autoreleased"); }
};

}  // namespace

Ref<Object> copy_of(Object* object) {
    static const SEL selector = intern("copy");
    return Ref<Object>::adopt(send<Object*>(object, selector));
}

void register_root() {
    static const auto raw = [](const char* selector, Object* (*imp)(Object*, SEL)) {
        return Method{selector, reinterpret_cast<IMP>(imp), Method::OnClass};
    };
    const Layout layout = {sizeof(PlainObject), alignof(PlainObject), [](Object*) {}};
    add_class(ns_object_class, "NSObject", nullptr, 0, layout,
              {
                  allocatable<PlainObject>(),
                  raw("alloc", &alloc),
                  raw("new", &new_object),
                  raw("copy", &copy_of_class),
                  method<&do_retain>("retain"),
                  method<&do_release>("release"),
                  method<&do_autorelease>("autorelease"),
                  method<&do_retain_count>("retainCount"),
                  method<&init>("init"),
                  method<&class_of_object>("class"),
                  method<&is_kind_of_class>("isKindOfClass:"),
                  method<&responds_to>("respondsToSelector:"),
                  method<&signature_for>("methodSignatureForSelector:"),
                  method<&hash>("hash"),
                  method<&is_equal>("isEqual:"),
                  method<&description>("description"),
                  method<&debug_description>("debugDescription"),
              });
    ClassSlot<PlainObject>::value.store(&ns_object_class, std::memory_order_release);
    define_class<MethodSignature>("NSMethodSignature", {});
}

void register_pool() {
    define_class<AutoreleasePool>("NSAutoreleasePool",
                                  {
                                      allocatable<AutoreleasePool>(),
                                      class_method<&show_pools>("showPools"),
                                      method<&AutoreleasePool::init>("init"),
                                      method<&AutoreleasePool::drain>("drain"),
                                      method<&AutoreleasePool::drain>("release"),
                                      method<&AutoreleasePool::add_object>("addObject:"),
                                      method<&AutoreleasePool::refuse_owner>("retain"),
                                      method<&AutoreleasePool::refuse_owner>("autorelease"),
                                  });
}

}  // namespace softmetal::objc

extern "C" const void* CFRetain(const void* object) {
    softmetal::objc::retain(static_cast<softmetal::objc::Object*>(const_cast<void*>(object)));
    return object;
}
extern "C" void CFRelease(const void* object) {
    softmetal::objc::release(static_cast<softmetal::objc::Object*>(const_cast<void*>(object)));
}
