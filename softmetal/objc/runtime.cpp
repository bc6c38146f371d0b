// The Objective-C runtime's C interface, which metal-cpp and the message senders call.
#include <string_view>

#include "softmetal/objc/class.h"

namespace rt = softmetal::objc;

// Where message_*.S ends up when a receiver's class has no such method.
extern "C" [[noreturn, gnu::used]] void softmetal_objc_no_method(rt::Object* receiver,
                                                                 SEL selector) {
    const rt::Class* cls = receiver->isa;
    if (cls->flags & rt::kDead) {
        rt::stop("message '%s' to a released %s (%p)", selector->name, cls->name,
                 static_cast<void*>(receiver));
    }
    if (cls->flags & rt::kMissing) {
        rt::stop("%s is not implemented (message '%s')", cls->name, selector->name);
    }
    rt::stop("%c[%s %s] is not implemented", cls->flags & rt::kMetaclass ? '+' : '-', cls->name,
             selector->name);
}

SEL sel_registerName(const char* name) {
    rt::register_classes();
    return rt::intern(name);
}
const char* sel_getName(SEL selector) { return selector ? selector->name : "<null selector>"; }
bool sel_isEqual(SEL a, SEL b) { return a == b; }

Class objc_lookUpClass(const char* name) {
    rt::register_classes();
    rt::Class* found = rt::find_class(name);
    // Only a name with one of Apple's prefixes is taken for something softmetal should have had.
    const std::string_view view = name;
    const bool apples = view.starts_with("MTL") || view.starts_with("NS") || view.starts_with("CA");
    return rt::to_objc(!found && apples ? rt::stand_in_class(name) : found);
}
Class objc_getClass(const char* name) { return objc_lookUpClass(name); }

// Metal's protocols are classes here.
Protocol* objc_getProtocol(const char* name) {
    rt::register_classes();
    return reinterpret_cast<Protocol*>(rt::find_class(name));
}

Class object_getClass(id object) { return object ? object->isa : nullptr; }
const char* object_getClassName(id object) {
    return object ? rt::class_from(object->isa)->name : "nil";
}
const char* class_getName(Class cls) { return cls ? rt::class_from(cls)->name : "nil"; }
Class class_getSuperclass(Class cls) {
    return cls ? rt::to_objc(rt::class_from(cls)->super) : nullptr;
}
bool class_respondsToSelector(Class cls, SEL selector) {
    return cls && selector && rt::find_method(rt::class_from(cls), selector);
}
