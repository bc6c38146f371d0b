// How a class is defined: a C++ struct, a name, and which message runs which function.
//
//   struct Counter : objc::Object {
//       uint64_t next() { return ++value; }
//       uint64_t value = 0;
//   };
//   define_class<Counter>("Counter", {
//       objc::allocatable<Counter>(),                         // [[Counter alloc] init]
//       objc::method<&Counter::next>("next"),
//       objc::property<&Counter::value>("value", "setValue:"),
//       objc::class_method<&make_counter>("counterWithValue:"),
//   });
//
// A function gets the message's arguments with their C types; results of any size work. The number
// of colons in a selector is checked against the function when this is compiled.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "softmetal/objc/class.h"

namespace softmetal::objc {

struct Method {
    enum Kind : uint8_t { Instance, OnClass, Construct };
    const char* selector = nullptr;
    IMP imp = nullptr;
    Kind kind = Instance;
};

// What one line of a definition adds: one method or two.
struct Methods {
    Method first, second;
    Methods(Method method) : first(method) {}
    Methods(Method get, Method set) : first(get), second(set) {}
};

template <class T>
concept Passable =
    std::is_void_v<T> || (std::is_trivially_copyable_v<T> && !std::is_reference_v<T>);

// The function a message runs: receiver, selector, arguments. On x86-64 a result above 16 bytes
// goes through a hidden pointer before the receiver, which is just what objc_msgSend_stret's
// callers pass.
template <auto F>
struct Thunk;
template <class R, class T, class... A, R (T::*F)(A...)>
struct Thunk<F> {
    static_assert(Passable<R> && (Passable<A> && ...));
    static constexpr int arity = sizeof...(A);
    static R call(T* self, SEL, A... args) { return (self->*F)(args...); }
};
template <class R, class T, class... A, R (T::*F)(A...) const>
struct Thunk<F> {
    static_assert(Passable<R> && (Passable<A> && ...));
    static constexpr int arity = sizeof...(A);
    static R call(const T* self, SEL, A... args) { return (self->*F)(args...); }
};
template <class R, class T, class... A, R (*F)(T*, A...)>
struct Thunk<F> {
    static_assert(Passable<R> && (Passable<A> && ...));
    static constexpr int arity = sizeof...(A);
    static R call(T* self, SEL, A... args) { return F(self, args...); }
};

template <auto F>
struct ClassThunk;
template <class R, class... A, R (*F)(A...)>
struct ClassThunk<F> {
    static_assert(Passable<R> && (Passable<A> && ...));
    static constexpr int arity = sizeof...(A);
    static R call(Object*, SEL, A... args) { return F(args...); }
};

// A selector whose colons were counted.
template <int arity>
struct SelectorOf {
    const char* name;
    consteval SelectorOf(const char* text) : name(text) {
        int colons = 0;
        for (const char* c = text; *c; ++c) colons += *c == ':';
        if (colons != arity) throw "the selector has another number of arguments";
    }
};

// F: a member function, or a function whose first parameter is the receiver.
template <auto F>
Method method(SelectorOf<Thunk<F>::arity> selector) {
    return {selector.name, reinterpret_cast<IMP>(&Thunk<F>::call), Method::Instance};
}

// F: a function without receiver.
template <auto F>
Method class_method(SelectorOf<ClassThunk<F>::arity> selector) {
    return {selector.name, reinterpret_cast<IMP>(&ClassThunk<F>::call), Method::OnClass};
}

// Lets users write [[T alloc] init].
template <class T>
Method allocatable() {
    Object* (*construct)() = [] { return static_cast<Object*>(make<T>().leak()); };
    return {"alloc", reinterpret_cast<IMP>(construct), Method::Construct};
}

template <auto M>
struct Field;
template <class T, class V, V T::* M>
struct Field<M> {
    static_assert(Passable<V>);
    static V get(T* self, SEL) { return self->*M; }
    static void set(T* self, SEL, V value) { self->*M = value; }
};
template <class T, class U, Ref<U> T::* M>
struct Field<M> {
    static U* get(T* self, SEL) { return (self->*M).get(); }
    static void set(T* self, SEL, U* value) { self->*M = Ref<U>::retaining(value); }
    static void copy(T* self, SEL, U* value) {
        self->*M = Ref<U>::adopt(static_cast<U*>(copy_of(value).leak()));
    }
};

// A data member, read and written. An object is held in a Ref and retained.
template <auto M>
Methods property(SelectorOf<0> getter, SelectorOf<1> setter) {
    return {{getter.name, reinterpret_cast<IMP>(&Field<M>::get), Method::Instance},
            {setter.name, reinterpret_cast<IMP>(&Field<M>::set), Method::Instance}};
}
template <auto M>
Methods property(SelectorOf<0> getter) {
    return Method{getter.name, reinterpret_cast<IMP>(&Field<M>::get), Method::Instance};
}

// The same, keeping a copy of the object that is handed in.
template <auto M>
Methods copied_property(SelectorOf<0> getter, SelectorOf<1> setter) {
    return {{getter.name, reinterpret_cast<IMP>(&Field<M>::get), Method::Instance},
            {setter.name, reinterpret_cast<IMP>(&Field<M>::copy), Method::Instance}};
}

struct Layout {
    uintptr_t bytes = 0;
    uint32_t alignment = 0;
    void (*destruct)(Object*) = nullptr;
};
// Fills in `cls` and makes it known by its name.
void add_class(Class& cls, const char* name, Class* super, uint32_t flags, const Layout& layout,
               std::initializer_list<Methods> methods);

// The class of T, named `name`, below the class of Super. Once per type, while register_classes
// runs.
template <class T, class Super = Object>
Class* define_class(const char* name, std::initializer_list<Methods> methods) {
    static_assert(std::derived_from<T, Super>);
    static Class cls;
    Class* super = &ns_object_class;
    if constexpr (!std::same_as<Super, Object>) super = class_of<Super>();
    const Layout layout = {sizeof(T), alignof(T),
                           [](Object* object) { static_cast<T*>(object)->~T(); }};
    add_class(cls, name, super, 0, layout, methods);
    ClassSlot<T>::value.store(&cls, std::memory_order_release);
    return &cls;
}

}  // namespace softmetal::objc

// The Metal classes, defined by softmetal/api.
extern "C" [[gnu::weak]] void softmetal_register_metal_classes();
