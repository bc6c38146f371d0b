#include "softmetal/objc/foundation/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/encoded_size.h"
#include "softmetal/objc/foundation/register.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::objc {
namespace {

// ---- NSValue ------------------------------------------------------------------------------------

Value* init_value(Value* self, const void* value, const char* type) {
    if (!value || !type) stop("-[NSValue initWithBytes:objCType:] with a null pointer");
    self->type = type;
    self->bytes.assign(static_cast<const char*>(value), encoded_size(type));
    return self;
}
Object* value_of(const void* value, const char* type) {
    return autoreleased(make<Value>(value, type));
}
Object* value_of_pointer(const void* pointer) {
    return autoreleased(make<Value>(static_cast<const void*>(&pointer), "^v"));
}
void get_value(Value* self, void* out, uintptr_t bytes) {
    if (bytes != self->bytes.size()) {
        stop("-[NSValue getValue:size:]: asked for %zu bytes, has %zu", bytes, self->bytes.size());
    }
    std::memcpy(out, self->bytes.data(), bytes);
}
const char* objc_type(Value* self) { return self->type.c_str(); }
void* pointer_value(Value* self) {
    void* pointer = nullptr;
    std::memcpy(&pointer, self->bytes.data(), std::min(sizeof(pointer), self->bytes.size()));
    return pointer;
}
bool is_equal_value(Value* self, Object* object) {
    const auto* other = as<Value>(object);
    return other && other->type == self->type && other->bytes == self->bytes;
}
uintptr_t hash_value(Value* self) { return std::hash<std::string>()(self->bytes); }
Object* copy(Object* self) {
    retain(self);
    return self;
}

// ---- NSNumber -----------------------------------------------------------------------------------

template <class T>
consteval const char* encoding_of() {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, char>) return "c";
    if constexpr (std::is_same_v<T, unsigned char>) return "C";
    if constexpr (std::is_same_v<T, short>) return "s";
    if constexpr (std::is_same_v<T, unsigned short>) return "S";
    if constexpr (std::is_same_v<T, int>) return "i";
    if constexpr (std::is_same_v<T, unsigned int>) return "I";
    if constexpr (std::is_same_v<T, long> || std::is_same_v<T, long long>) return "q";
    if constexpr (std::is_same_v<T, unsigned long> || std::is_same_v<T, unsigned long long>) {
        return "Q";
    }
    if constexpr (std::is_same_v<T, float>) return "f";
    if constexpr (std::is_same_v<T, double>) return "d";
}

template <class T>
Object* number_of(T value) {
    Ref<Number> number = make<Number>();
    number->set(value);
    return autoreleased(std::move(number));
}
template <class T>
Number* init_number(Number* self, T value) {
    self->set(value);
    return self;
}

// Like a cast in C, but defined for every double: out of range gives the nearest end, NaN zero.
template <class T>
T get(Number* self) {
    return std::visit(
        [](auto value) -> T {
            if constexpr (std::is_same_v<T, bool>) {
                return value != 0;
            } else if constexpr (std::is_floating_point_v<decltype(value)> &&
                                 std::is_integral_v<T>) {
                if (std::isnan(value)) return 0;
                if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
                    return std::numeric_limits<T>::min();
                }
                if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
                    return std::numeric_limits<T>::max();
                }
                return static_cast<T>(value);
            } else {
                return static_cast<T>(value);
            }
        },
        self->number);
}

// Exact, also between 64-bit integers and doubles. NaN counts as equal to itself and below the
// rest.
int compare_exactly(const Number* a, const Number* b) {
    const auto wide = [](const Number* n) {
        return std::visit([](auto v) { return static_cast<long double>(v); }, n->number);
    };
    if constexpr (std::numeric_limits<long double>::digits < 64) {
        const auto* x = std::get_if<int64_t>(&a->number);
        const auto* y = std::get_if<int64_t>(&b->number);
        if (x && y) return *x == *y ? 0 : *x < *y ? -1 : 1;
    }
    const long double x = wide(a), y = wide(b);
    if (std::isnan(x) || std::isnan(y)) return static_cast<int>(std::isnan(y)) - std::isnan(x);
    return x == y ? 0 : x < y ? -1 : 1;
}
intptr_t compare(Number* self, Object* object) {
    const auto* other = as<Number>(object);
    if (!other) stop("-[NSNumber compare:] with something that is no number");
    return compare_exactly(self, other);
}
bool is_equal_number(Number* self, Object* object) {
    const auto* other = as<Number>(object);
    return other && compare_exactly(self, other) == 0;
}
// Equal numbers of different types hash alike.
uintptr_t hash_number(Number* self) { return std::hash<double>()(get<double>(self)); }

Object* string_value(Number* self) {
    char text[64];
    const auto write = [&](auto value) {
        return std::to_chars(text, text + sizeof(text), value).ptr;
    };
    const char* end = std::visit(write, self->number);
    if (self->type == "f") end = write(get<float>(self));  // as few digits as a float needs
    return string({text, static_cast<size_t>(end - text)});
}
Object* description_with_locale(Number* self, Object*) { return string_value(self); }

}  // namespace

Value::Value(const void* value, const char* encoding) { init_value(this, value, encoding); }

template <class T>
void Number::set(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        number = static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
        number = static_cast<int64_t>(value);
    } else {
        number = static_cast<uint64_t>(value);
    }
    bytes.assign(reinterpret_cast<const char*>(&value), sizeof(value));
    type = encoding_of<T>();
}

Ref<Number> make_number(int64_t value) {
    auto number = make<Number>();
    number->set(value);
    return number;
}
Ref<Number> make_number(uint64_t value) {
    auto number = make<Number>();
    number->set(value);
    return number;
}
Ref<Number> make_number(double value) {
    auto number = make<Number>();
    number->set(value);
    return number;
}

void register_number() {
    define_class<Value>("NSValue", {
                                       allocatable<Value>(),
                                       class_method<&value_of>("valueWithBytes:objCType:"),
                                       class_method<&value_of_pointer>("valueWithPointer:"),
                                       method<&init_value>("initWithBytes:objCType:"),
                                       method<&get_value>("getValue:size:"),
                                       method<&objc_type>("objCType"),
                                       method<&pointer_value>("pointerValue"),
                                       method<&is_equal_value>("isEqualToValue:"),
                                       method<&is_equal_value>("isEqual:"),
                                       method<&hash_value>("hash"),
                                       method<&copy>("copy"),
                                   });
    define_class<Number, Value>(
        "NSNumber", {
                        allocatable<Number>(),
                        class_method<&number_of<char>>("numberWithChar:"),
                        class_method<&number_of<unsigned char>>("numberWithUnsignedChar:"),
                        class_method<&number_of<short>>("numberWithShort:"),
                        class_method<&number_of<unsigned short>>("numberWithUnsignedShort:"),
                        class_method<&number_of<int>>("numberWithInt:"),
                        class_method<&number_of<unsigned int>>("numberWithUnsignedInt:"),
                        class_method<&number_of<long>>("numberWithLong:"),
                        class_method<&number_of<unsigned long>>("numberWithUnsignedLong:"),
                        class_method<&number_of<long long>>("numberWithLongLong:"),
                        class_method<&number_of<unsigned long long>>("numberWithUnsignedLongLong:"),
                        class_method<&number_of<float>>("numberWithFloat:"),
                        class_method<&number_of<double>>("numberWithDouble:"),
                        class_method<&number_of<bool>>("numberWithBool:"),
                        method<&init_number<char>>("initWithChar:"),
                        method<&init_number<unsigned char>>("initWithUnsignedChar:"),
                        method<&init_number<short>>("initWithShort:"),
                        method<&init_number<unsigned short>>("initWithUnsignedShort:"),
                        method<&init_number<int>>("initWithInt:"),
                        method<&init_number<unsigned int>>("initWithUnsignedInt:"),
                        method<&init_number<long>>("initWithLong:"),
                        method<&init_number<unsigned long>>("initWithUnsignedLong:"),
                        method<&init_number<long long>>("initWithLongLong:"),
                        method<&init_number<unsigned long long>>("initWithUnsignedLongLong:"),
                        method<&init_number<float>>("initWithFloat:"),
                        method<&init_number<double>>("initWithDouble:"),
                        method<&init_number<bool>>("initWithBool:"),
                        method<&get<char>>("charValue"),
                        method<&get<unsigned char>>("unsignedCharValue"),
                        method<&get<short>>("shortValue"),
                        method<&get<unsigned short>>("unsignedShortValue"),
                        method<&get<int>>("intValue"),
                        method<&get<unsigned int>>("unsignedIntValue"),
                        method<&get<long>>("longValue"),
                        method<&get<unsigned long>>("unsignedLongValue"),
                        method<&get<long long>>("longLongValue"),
                        method<&get<unsigned long long>>("unsignedLongLongValue"),
                        method<&get<float>>("floatValue"),
                        method<&get<double>>("doubleValue"),
                        method<&get<bool>>("boolValue"),
                        method<&get<long>>("integerValue"),
                        method<&get<unsigned long>>("unsignedIntegerValue"),
                        method<&string_value>("stringValue"),
                        method<&string_value>("description"),
                        method<&description_with_locale>("descriptionWithLocale:"),
                        method<&compare>("compare:"),
                        method<&is_equal_number>("isEqualToNumber:"),
                        method<&is_equal_number>("isEqualToValue:"),
                        method<&is_equal_number>("isEqual:"),
                        method<&hash_number>("hash"),
                    });
}

}  // namespace softmetal::objc
