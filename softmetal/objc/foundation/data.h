// NSData: what Metal hands out as raw bytes.
#pragma once

#include <string>

#include "softmetal/objc/object.h"

namespace softmetal::objc {

struct Data : Object {
    std::string bytes;

    Data() = default;
    explicit Data(std::string all) : bytes(std::move(all)) {}
};

}  // namespace softmetal::objc
