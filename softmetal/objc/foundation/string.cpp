#include "softmetal/objc/foundation/string.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/encoding.h"
#include "softmetal/objc/foundation/register.h"
#include "softmetal/objc/foundation/unicode.h"

constinit softmetal::objc::Class __CFConstantStringClassReference;

namespace softmetal::objc {
namespace {

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

const ConstantString* as_constant(const Object* string) {
    if (string->isa != &__CFConstantStringClassReference) return nullptr;
    return reinterpret_cast<const ConstantString*>(string);
}

// The two encodings of a constant that the compiler wrote as UTF-16 (or in UTF-8 by another tool).
struct Converted {
    std::string utf8;
    std::u16string utf16;
};
const Converted& converted(const ConstantString& constant) {
    static auto* const mutex = new std::mutex;
    static auto* const all = new std::map<const ConstantString*, Converted>;
    const std::scoped_lock lock(*mutex);
    const auto [at, is_new] = all->try_emplace(&constant);
    if (!is_new) return at->second;
    const auto length = static_cast<size_t>(constant.length);
    if (constant.flags == ConstantString::kUtf16) {
        at->second.utf16.assign(static_cast<const char16_t*>(constant.text), length);
        at->second.utf8 = utf8_from_utf16(at->second.utf16);
    } else {
        at->second.utf8 = repaired_utf8({static_cast<const char*>(constant.text), length});
        at->second.utf16 = *utf16_from_utf8(at->second.utf8);
    }
    return at->second;
}

// A string as UTF-16 units without converting the ASCII ones.
class Units {
  public:
    explicit Units(const Object* string) {
        const ConstantString* constant = as_constant(string);
        if (!constant) {
            const auto* made = static_cast<const String*>(string);
            ascii_ = made->utf8;
            wide_ = made->utf16;
            return;
        }
        ascii_ = {static_cast<const char*>(constant->text), static_cast<size_t>(constant->length)};
        if (constant->flags != ConstantString::kUtf16 && is_ascii(ascii_)) return;
        wide_ = converted(*constant).utf16;
    }
    size_t size() const { return wide_.empty() ? ascii_.size() : wide_.size(); }
    char16_t operator[](size_t i) const {
        return wide_.empty() ? static_cast<unsigned char>(ascii_[i]) : wide_[i];
    }
    std::u16string copy() const {
        std::u16string result(size(), u'\0');
        for (size_t i = 0; i < size(); ++i) result[i] = (*this)[i];
        return result;
    }

  private:
    std::string_view ascii_;
    std::u16string_view wide_;
};

void set_text(String* self, std::u16string units) {
    self->utf8 = utf8_from_utf16(units);
    self->utf16 = is_ascii(self->utf8) ? std::u16string() : std::move(units);
}

void require(const Object* argument, const char* method) {
    if (!argument) stop("-[NSString %s] with a nil string", method);
}

// ---- Methods ------------------------------------------------------------------------------------

String* init_with_string(String* self, Object* other) {
    require(other, "initWithString:");
    self->utf8 = text_of(other);
    const Units units(other);
    if (!is_ascii(self->utf8)) self->utf16 = units.copy();
    return self;
}

// Bytes that are not text in that encoding give nil, and `self` is gone.
String* init_with_bytes(String* self, std::string_view bytes, uintptr_t encoding) {
    auto units = decode(bytes, encoding);
    if (!units) {
        release(self);
        return nullptr;
    }
    set_text(self, *std::move(units));
    return self;
}

String* init_with_c_string(String* self, const char* text, uintptr_t encoding) {
    if (!text) stop("-[NSString initWithCString:encoding:] with a null string");
    return init_with_bytes(self, {text, terminated_length(text, encoding)}, encoding);
}

// The bytes are copied: they may be freed at once, which is all that freeWhenDone promises.
String* init_no_copy(String* self, void* bytes, uintptr_t length, uintptr_t encoding,
                     bool free_it) {
    String* result = init_with_bytes(self, {static_cast<const char*>(bytes), length}, encoding);
    if (free_it && result) std::free(bytes);
    return result;
}

Object* empty_string() { return autoreleased(make<String>()); }
Object* string_with_string(Object* other) {
    return autoreleased(Ref<String>::adopt(init_with_string(make<String>().leak(), other)));
}
Object* string_with_c_string(const char* text, uintptr_t encoding) {
    return autoreleased(
        Ref<String>::adopt(init_with_c_string(make<String>().leak(), text, encoding)));
}

uintptr_t length(Object* self) { return Units(self).size(); }

unsigned short character_at(Object* self, uintptr_t index) {
    const Units units(self);
    if (index >= units.size()) {
        stop("-[NSString characterAtIndex:]: index %zu, length %zu", index, units.size());
    }
    return units[index];
}

const char* utf8_string(Object* self) { return text_of(self).data(); }

const char* c_string(Object* self, uintptr_t encoding) {
    if (encoding == kUtf8) return utf8_string(self);
    auto bytes = encode(Units(self).copy(), encoding);
    if (!bytes) return nullptr;
    bytes->append(4, '\0');  // ends a string of any unit
    // Lives as long as an autoreleased object does.
    auto holder = make<String>();
    holder->utf8 = *std::move(bytes);
    return autoreleased(std::move(holder))->utf8.data();
}

uintptr_t bytes_needed(Object* self, uintptr_t encoding) {
    if (encoding == kUtf8) return text_of(self).size();
    const auto bytes = encode(Units(self).copy(), encoding);
    return bytes ? bytes->size() : 0;
}

uintptr_t most_bytes_needed(Object* self, uintptr_t encoding) {
    return length(self) * most_bytes_per_unit(encoding);
}

bool is_equal_to_string(Object* self, Object* other) {
    return other && text_of(self) == text_of(other);
}
bool is_equal(Object* self, Object* other) {
    return self == other || (other && is_string(other) && text_of(self) == text_of(other));
}

uintptr_t hash(Object* self) {
    uint64_t value = 14695981039346656037u;  // FNV-1a
    for (const char c : text_of(self)) {
        value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    return value;
}

// NS::StringCompareOptions
constexpr uintptr_t kCaseInsensitive = 1, kLiteral = 2, kBackwards = 4, kAnchored = 8;
struct Range {
    uintptr_t location, length;
};
constexpr Range kNotFound = {INTPTR_MAX, 0};

Range range_of_string(Object* self, Object* wanted, uintptr_t options) {
    require(wanted, "rangeOfString:options:");
    if (const auto other = options & ~(kCaseInsensitive | kLiteral | kBackwards | kAnchored)) {
        stop("-[NSString rangeOfString:options:] with option %zu is not implemented", other);
    }
    const Units text(self), needle(wanted);
    if (needle.size() == 0 || needle.size() > text.size()) return kNotFound;
    const bool fold = options & kCaseInsensitive;
    const auto stands_at = [&](size_t at) {
        for (size_t i = 0; i < needle.size(); ++i) {
            const char16_t a = text[at + i], b = needle[i];
            if (fold ? folded(a) != folded(b) : a != b) return false;
        }
        return true;
    };
    const size_t last = text.size() - needle.size();
    const bool backwards = options & kBackwards;
    if (options & kAnchored) {
        const size_t at = backwards ? last : 0;
        return stands_at(at) ? Range{at, needle.size()} : kNotFound;
    }
    for (size_t i = 0; i <= last; ++i) {
        const size_t at = backwards ? last - i : i;
        if (stands_at(at)) return {at, needle.size()};
    }
    return kNotFound;
}

intptr_t case_insensitive_compare(Object* self, Object* other) {
    require(other, "caseInsensitiveCompare:");
    const Units a(self), b(other);
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        const char16_t x = folded(a[i]), y = folded(b[i]);
        if (x != y) return x < y ? -1 : 1;
    }
    return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

Object* appended(Object* self, Object* other) {
    require(other, "stringByAppendingString:");
    return string(std::string(text_of(self)).append(text_of(other)));
}

Object* itself(Object* self) { return self; }
Object* copy(Object* self) {
    retain(self);
    return self;
}

}  // namespace

String::String(std::string_view text) : utf8(text) {
    if (is_ascii(utf8)) return;
    auto units = utf16_from_utf8(utf8);
    if (!units) {
        utf8 = repaired_utf8(utf8);
        units = utf16_from_utf8(utf8);
    }
    utf16 = *std::move(units);
}

Ref<String> make_string(std::string_view utf8) { return make<String>(utf8); }
String* string(std::string_view utf8) { return autoreleased(make_string(utf8)); }

std::string_view text_of(const Object* string) {
    if (!string) return "";
    const ConstantString* constant = as_constant(string);
    if (!constant) return static_cast<const String*>(string)->utf8;
    const std::string_view text(static_cast<const char*>(constant->text),
                                static_cast<size_t>(constant->length));
    if (constant->flags == ConstantString::kUtf16) return converted(*constant).utf8;
    return text;
}

bool is_string(const Object* object) { return is_kind_of(object, class_of<String>()); }

void register_string() {
    Class* const cls = define_class<String>(
        "NSString", {
                        allocatable<String>(),
                        class_method<&empty_string>("string"),
                        class_method<&string_with_string>("stringWithString:"),
                        class_method<&string_with_c_string>("stringWithCString:encoding:"),
                        method<&init_with_string>("initWithString:"),
                        method<&init_with_c_string>("initWithCString:encoding:"),
                        method<&init_no_copy>("initWithBytesNoCopy:length:encoding:freeWhenDone:"),
                        method<&length>("length"),
                        method<&character_at>("characterAtIndex:"),
                        method<&utf8_string>("UTF8String"),
                        method<&utf8_string>("fileSystemRepresentation"),
                        method<&c_string>("cStringUsingEncoding:"),
                        method<&bytes_needed>("lengthOfBytesUsingEncoding:"),
                        method<&most_bytes_needed>("maximumLengthOfBytesUsingEncoding:"),
                        method<&is_equal_to_string>("isEqualToString:"),
                        method<&is_equal>("isEqual:"),
                        method<&hash>("hash"),
                        method<&range_of_string>("rangeOfString:options:"),
                        method<&case_insensitive_compare>("caseInsensitiveCompare:"),
                        method<&appended>("stringByAppendingString:"),
                        method<&itself>("description"),
                        method<&itself>("debugDescription"),
                        method<&copy>("copy"),
                    });
    add_class(__CFConstantStringClassReference, "NSConstantString", cls, kUncounted, {}, {});
}

}  // namespace softmetal::objc

// ---- CoreFoundation's ways to a string ----------------------------------------------------------

extern "C" const struct __CFString* __CFStringMakeConstantString(const char* text) {
    using namespace softmetal::objc;
    register_classes();
    static auto* const mutex = new std::mutex;
    static auto* const all = new std::map<std::string, ConstantString, std::less<>>;
    const std::scoped_lock lock(*mutex);
    const auto [at, is_new] = all->try_emplace(text);
    if (is_new) {
        at->second.text = at->first.c_str();
        at->second.length = static_cast<long>(at->first.size());
    }
    return reinterpret_cast<const struct __CFString*>(&at->second);
}
