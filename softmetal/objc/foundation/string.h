// NSString. Two kinds of object answer to the name: String, made at run time, and ConstantString,
// laid out by the compiler for MTLSTR("...") and CFSTR, with no room for a reference count. Code
// that is handed a string therefore takes an Object* and reads it with text_of().
#pragma once

#include <string>
#include <string_view>

#include "softmetal/objc/class.h"

// The class that the compiler's string constants point at.
extern "C" softmetal::objc::Class __CFConstantStringClassReference;

namespace softmetal::objc {

struct String : Object {
    std::string utf8;
    std::u16string utf16;  // only when utf8 is not plain ASCII

    String() = default;
    explicit String(std::string_view text);  // what is not UTF-8 becomes U+FFFD
};

struct ConstantString {
    Class* isa = &__CFConstantStringClassReference;
    int flags = kEightBit;
    const void* text = nullptr;
    long length = 0;  // in bytes, or in UTF-16 units

    static constexpr int kEightBit = 0x7c8, kUtf16 = 0x7d0;
};

// A constant object that exists before any initialiser runs:
//     constinit const ConstantString kDomain = constant_string("MTLCommandBufferErrorDomain");
consteval ConstantString constant_string(const char* ascii) {
    long length = 0;
    while (ascii[length]) ++length;
    return {.text = ascii, .length = length};
}
inline Object* as_object(const ConstantString& string) {
    return reinterpret_cast<Object*>(const_cast<ConstantString*>(&string));
}

Ref<String> make_string(std::string_view utf8);
String* string(std::string_view utf8);  // autoreleased

// The string's UTF-8, followed by a zero byte; valid while the string lives. "" for nullptr.
std::string_view text_of(const Object* string);
bool is_string(const Object* object);

}  // namespace softmetal::objc

// A symbol that metal-cpp looks up by name: the address of a constant string. Define it in a file
// that is linked anyway, such as one that registers a class.
#define SOFTMETAL_STRING_CONSTANT(symbol, text)                                              \
    static constinit const softmetal::objc::ConstantString symbol##Text =                    \
        softmetal::objc::constant_string(text);                                              \
    extern "C" constinit const softmetal::objc::ConstantString* const symbol [[gnu::used]] = \
        &symbol##Text
