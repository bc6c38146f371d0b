#include "softmetal/objc/foundation/url.h"

#include <cctype>
#include <cstdio>
#include <filesystem>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::objc {
namespace {

std::string encoded(std::string_view path) {
    std::string result;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) || std::string_view("/-._~!$&'()*+,=:@").contains(c)) {
            result.push_back(c);
        } else {
            char hex[4];
            std::snprintf(hex, sizeof(hex), "%%%02X", byte);
            result += hex;
        }
    }
    return result;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string decoded(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                            hex_digit(text[i + 2]) >= 0;
        if (!escape) {
            result.push_back(text[i]);
            continue;
        }
        result.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
        i += 2;
    }
    return result;
}

// What follows "scheme:" and "//host", up to a query or fragment.
std::string_view path_part(std::string_view text) {
    text = text.substr(0, text.find_first_of("?#"));
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos && text.find('/') > colon) text.remove_prefix(colon + 1);
    if (text.starts_with("//")) {
        text.remove_prefix(2);
        const size_t slash = text.find('/');
        text.remove_prefix(slash == std::string_view::npos ? text.size() : slash);
    }
    return text;
}

Url* init_file_url(Url* self, Object* path) {
    if (!path) stop("-[NSURL initFileURLWithPath:] with a nil path");
    const Url made{text_of(path)};
    self->text = made.text;
    self->path = made.path;
    return self;
}
Object* file_url(Object* path) {
    if (!path) stop("+[NSURL fileURLWithPath:] with a nil path");
    return autoreleased(make<Url>(text_of(path)));
}

Url* init_with_string(Url* self, Object* text) {
    if (!text) stop("-[NSURL initWithString:] with a nil string");
    self->text = text_of(text);
    self->path = decoded(path_part(self->text));
    return self;
}

const char* file_system_representation(Url* self) { return self->path.c_str(); }
Object* describe(Url* self) { return string(self->text); }
bool is_equal(Url* self, Object* object) {
    const auto* other = as<Url>(object);
    return other && other->text == self->text;
}
uintptr_t hash(Url* self) { return std::hash<std::string>()(self->text); }
Object* copy(Url* self) {
    retain(self);
    return self;
}

}  // namespace

Url::Url(std::string_view file_path) {
    std::error_code ignored;  // without a working directory the path stays as it is
    const auto absolute = std::filesystem::absolute(file_path, ignored);
    path = absolute.empty() ? std::string(file_path) : absolute.lexically_normal().string();
    if (path.size() > 1 && path.ends_with('/')) path.pop_back();
    text = "file://" + encoded(path);
}

void register_url() {
    define_class<Url>("NSURL", {
                                   allocatable<Url>(),
                                   class_method<&file_url>("fileURLWithPath:"),
                                   method<&init_file_url>("initFileURLWithPath:"),
                                   method<&init_with_string>("initWithString:"),
                                   method<&file_system_representation>("fileSystemRepresentation"),
                                   method<&describe>("description"),
                                   method<&is_equal>("isEqual:"),
                                   method<&hash>("hash"),
                                   method<&copy>("copy"),
                               });
}

}  // namespace softmetal::objc
