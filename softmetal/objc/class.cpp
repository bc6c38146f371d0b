// Selectors and classes: the names a program may look up, and the method table of each class.
#include "softmetal/objc/class.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"

namespace softmetal::objc {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(Object, isa) == 0 && offsetof(Object, references) == 8);
static_assert(offsetof(Class, isa) == 0 && offsetof(Class, references) == 8);
static_assert(offsetof(Class, buckets) == 16 && offsetof(Class, bucket_mask) == 24);
#pragma clang diagnostic pop
static_assert(sizeof(Bucket) == 16 && sizeof(objc_selector) == 16);

const Bucket kNoMethods[1] = {};
constinit Class ns_object_class;

namespace {

// Never destroyed: programs send messages while their statics go.
struct Registry {
    std::mutex mutex;
    std::deque<std::string> names;
    std::deque<objc_selector> selectors;
    std::unordered_map<std::string_view, objc_selector*> selector_of;
    std::unordered_map<std::string_view, Class*> class_of;
    std::vector<Class*> classes;
};
Registry& registry() {
    static auto* const instance = new Registry;
    return *instance;
}

// The table of `own` methods over those of `inherited`, which may be null. Lives as long as the
// process.
void build_table(Class& cls, const Class* inherited, const std::vector<Bucket>& own) {
    std::vector<Bucket> all = own;
    const auto has = [&](SEL selector) {
        for (const Bucket& bucket : all) {
            if (bucket.selector == selector) return true;
        }
        return false;
    };
    if (inherited) {
        for (uint32_t i = 0; i < inherited->n_buckets; ++i) {
            const Bucket& bucket = inherited->buckets[i];
            if (bucket.selector && !has(bucket.selector)) all.push_back(bucket);
        }
    }
    if (all.empty()) return;

    size_t slots = 4;
    while (slots < 2 * all.size()) slots *= 2;
    // Buckets that do not fit before the end run on past it instead of starting over.
    auto* const table = new Bucket[slots + all.size() + 1];
    const uintptr_t mask = (slots - 1) * sizeof(Bucket);
    for (const Bucket& bucket : all) {
        size_t i = (reinterpret_cast<uintptr_t>(bucket.selector) & mask) / sizeof(Bucket);
        while (table[i].selector) ++i;
        table[i] = bucket;
    }
    cls.buckets = table;
    cls.bucket_mask = mask;
    cls.n_buckets = static_cast<uint32_t>(slots + all.size() + 1);
}

std::vector<Bucket> buckets_of(std::initializer_list<Methods> methods, Method::Kind kind) {
    std::vector<Bucket> result;
    const auto add = [&](const Method& method) {
        if (!method.selector || method.kind != kind) return;
        const SEL selector = intern(method.selector);
        for (const Bucket& bucket : result) {
            if (bucket.selector == selector) stop("a class defines '%s' twice", method.selector);
        }
        result.push_back({selector, method.imp});
    };
    for (const Methods& both : methods) {
        add(both.first);
        add(both.second);
    }
    return result;
}

const char* keep(std::string text) {
    Registry& r = registry();
    return r.names.emplace_back(std::move(text)).c_str();
}

void enter(Class& cls) {
    Registry& r = registry();
    const std::scoped_lock lock(r.mutex);
    if (!r.class_of.emplace(cls.name, &cls).second) stop("class %s is defined twice", cls.name);
    r.classes.push_back(&cls);
}

thread_local bool registering = false;

}  // namespace

void stop(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    char text[1024];
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    std::fflush(stdout);
    std::fprintf(stderr, "softmetal: %s\n", text);
    std::abort();
}

void stop_undefined_class(const char* cpp_type) {
    stop("an object was made before its class was defined: %s", cpp_type);
}

SEL intern(const char* name) {
    Registry& r = registry();
    const std::scoped_lock lock(r.mutex);
    if (const auto found = r.selector_of.find(name); found != r.selector_of.end()) {
        return found->second;
    }
    const char* kept = keep(name);
    objc_selector* selector = &r.selectors.emplace_back(kept, 0);
    r.selector_of.emplace(kept, selector);
    return selector;
}

void add_class(Class& cls, const char* name, Class* super, uint32_t flags, const Layout& layout,
               std::initializer_list<Methods> methods) {
    auto* const meta = new Class;
    cls.isa = meta;
    cls.name = meta->name = name;
    cls.super = super;
    cls.flags = flags;
    cls.instance_bytes = layout.bytes;
    cls.instance_alignment = layout.alignment;
    cls.destruct = layout.destruct;
    for (const Methods& both : methods) {
        if (both.first.kind != Method::Construct) continue;
        cls.construct = reinterpret_cast<Object* (*)()>(both.first.imp);
    }
    build_table(cls, super, buckets_of(methods, Method::Instance));

    // A class answers what the root's instances answer, as in Objective-C.
    meta->super = super ? super->isa : &cls;
    meta->isa = super ? super->isa->isa : meta;
    meta->flags = kMetaclass | kUncounted;
    build_table(*meta, meta->super, buckets_of(methods, Method::OnClass));

    cls.dead = new Class;
    cls.dead->isa = meta;
    cls.dead->name = name;
    cls.dead->flags = kDead;
    enter(cls);
}

void register_classes() {
    if (registering) return;  // a class being defined asks for another
    static const bool once = [] {
        registering = true;
        register_foundation_classes();
        if (&softmetal_register_metal_classes) softmetal_register_metal_classes();
        registering = false;
        return true;
    }();
    static_cast<void>(once);
}

IMP find_method(const Class* cls, SEL selector) {
    const auto start = reinterpret_cast<uintptr_t>(selector) & cls->bucket_mask;
    for (const Bucket* b = cls->buckets + start / sizeof(Bucket); b->selector; ++b) {
        if (b->selector == selector) return b->imp;
    }
    return nullptr;
}

Class* find_class(const char* name) {
    Registry& r = registry();
    const std::scoped_lock lock(r.mutex);
    const auto found = r.class_of.find(name);
    return found == r.class_of.end() ? nullptr : found->second;
}

Class* stand_in_class(const char* name) {
    Registry& r = registry();
    const std::scoped_lock lock(r.mutex);
    if (const auto found = r.class_of.find(name); found != r.class_of.end()) return found->second;
    auto* const cls = new Class;
    auto* const meta = new Class;
    cls->name = meta->name = keep(name);
    cls->isa = meta;
    meta->flags = kMetaclass | kUncounted | kMissing;
    cls->flags = kMissing;
    r.class_of.emplace(cls->name, cls);
    r.classes.push_back(cls);
    return cls;
}

void for_each_class(void (*visit)(Class*, void*), void* context) {
    Registry& r = registry();
    const std::scoped_lock lock(r.mutex);
    for (Class* cls : r.classes) visit(cls, context);
}

bool is_kind_of(const Object* object, const Class* cls) {
    for (const Class* c = object->isa; c; c = c->super) {
        if (c == cls) return true;
    }
    return false;
}

const char* class_name(const Object* object) { return object->isa->name; }

}  // namespace softmetal::objc
