// NSURL, as far as Metal takes one: the place of a file.
#pragma once

#include <string>
#include <string_view>

#include "softmetal/objc/object.h"

namespace softmetal::objc {

struct Url : Object {
    std::string text;  // percent-encoded, as it was given or made
    std::string path;  // decoded; "" when it has none

    Url() = default;
    explicit Url(std::string_view file_path);  // a relative one starts at the working directory
};

}  // namespace softmetal::objc
