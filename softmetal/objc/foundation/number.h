// NSValue and NSNumber.
#pragma once

#include <string>
#include <variant>

#include "softmetal/objc/object.h"

namespace softmetal::objc {

// Bytes of a type described by an @encode string.
struct Value : Object {
    std::string bytes;
    std::string type;

    Value() = default;
    Value(const void* value, const char* encoding);
};

struct Number : Value {
    std::variant<int64_t, uint64_t, double> number = int64_t{0};

    template <class T>
    void set(T value);
};

Ref<Number> make_number(int64_t value);
Ref<Number> make_number(uint64_t value);
Ref<Number> make_number(double value);

}  // namespace softmetal::objc
