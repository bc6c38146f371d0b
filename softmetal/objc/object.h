// Objects as Objective-C knows them, for the C++ side: what every object begins with, references
// that are counted, and how an object is made. A class is defined with define_class.h.
//
// An object is a plain struct, without virtual functions: messages find their methods through
// `isa`, which must be the first word, because programs carry string constants laid out by the
// compiler.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <objc/message.h>
#include <objc/runtime.h>

namespace softmetal::objc {

struct Class;
extern Class ns_object_class;  // the root; what an object is while it is being constructed

struct Object {
    Class* isa = &ns_object_class;
    std::atomic<intptr_t> references = 1;

    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
};

// ---- Reference counts ---------------------------------------------------------------------------

// Each stops the process when the object is dead already, naming its class. nullptr is fine.
void retain(Object* object);
void release(Object* object);
void autorelease(Object* object);
uintptr_t retain_count(const Object* object);
bool retain_if_alive(Object* object);  // false when the last reference is going at this moment

// Owns one reference.
template <class T>
class Ref {
  public:
    Ref() = default;
    Ref(std::nullptr_t) {}
    Ref(const Ref& other) : object_(other.object_) { retain(object_); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    template <class U>
        requires std::convertible_to<U*, T*>
    Ref(Ref<U> other) : object_(other.leak()) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { release(object_); }

    static Ref adopt(T* object) { return Ref(object); }  // takes over the caller's reference
    static Ref retaining(T* object) {
        retain(object);
        return Ref(object);
    }

    T* get() const { return object_; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }

    // The object with our reference: what a method named new..., alloc or copy returns.
    [[nodiscard]] T* leak() { return std::exchange(object_, nullptr); }

  private:
    explicit Ref(T* object) : object_(object) {}
    T* object_ = nullptr;
};

// What a method of any other name returns: alive until the caller's autorelease pool ends.
template <class T>
T* autoreleased(Ref<T> object) {
    T* raw = object.leak();
    autorelease(raw);
    return raw;
}

// For a pointer that is no reference: null when the object is being destroyed. The caller makes
// sure that its memory is still there.
template <class T>
Ref<T> try_retain(T* object) {
    return retain_if_alive(object) ? Ref<T>::adopt(object) : nullptr;
}

// The objects autoreleased on this thread while it lives end with it. For threads of our own.
class AutoreleaseScope {
  public:
    AutoreleaseScope() : pool_(objc_autoreleasePoolPush()) {}
    ~AutoreleaseScope() { objc_autoreleasePoolPop(pool_); }
    AutoreleaseScope(const AutoreleaseScope&) = delete;
    AutoreleaseScope& operator=(const AutoreleaseScope&) = delete;

  private:
    void* pool_;
};

// ---- Making objects -----------------------------------------------------------------------------

// Defines all classes, once; every entry point of the runtime begins with it. The Metal side adds
// its own in softmetal_register_metal_classes(), which may be absent.
void register_classes();

template <class T>
struct ClassSlot {
    static inline std::atomic<Class*> value = nullptr;
};
[[noreturn]] void stop_undefined_class(const char* cpp_type);

// The class defined for T.
template <class T>
Class* class_of() {
    if (Class* found = ClassSlot<T>::value.load(std::memory_order_acquire)) return found;
    register_classes();
    if (Class* found = ClassSlot<T>::value.load(std::memory_order_acquire)) return found;
    stop_undefined_class(__PRETTY_FUNCTION__);
}

void count_made(Class* cls, Object* object);  // sets isa, counts the object as live

template <class T, class... Args>
    requires std::derived_from<T, Object>
Ref<T> make(Args&&... args) {
    Class* cls = class_of<T>();
    void* memory = ::operator new(sizeof(T), std::align_val_t(alignof(T)));
    T* object = new (memory) T(std::forward<Args>(args)...);
    count_made(cls, object);
    return Ref<T>::adopt(object);
}

// Exempts an object that lives as long as the process from the live counts.
void make_immortal(Object* object);

bool is_kind_of(const Object* object, const Class* cls);
const char* class_name(const Object* object);

// The object as a T, or nullptr when it is none.
template <class T>
T* as(Object* object) {
    return object && is_kind_of(object, class_of<T>()) ? static_cast<T*>(object) : nullptr;
}

// ---- Messages -----------------------------------------------------------------------------------

// send<Object*>(receiver, selector, arguments...); nullptr answers zero. The result must fit
// registers.
template <class R, class... Args>
R send(const Object* receiver, SEL selector, Args... args) {
    static_assert(std::is_void_v<R> || std::is_scalar_v<R>);
    return reinterpret_cast<R (*)(const Object*, SEL, Args...)>(&objc_msgSend)(receiver, selector,
                                                                               args...);
}

// The receiver's -copy, which for what cannot change is the receiver itself. nullptr for nullptr.
Ref<Object> copy_of(Object* object);

// Ends the process with "softmetal: " and one line.
[[noreturn, gnu::format(printf, 1, 2)]] void stop(const char* format, ...);

}  // namespace softmetal::objc
