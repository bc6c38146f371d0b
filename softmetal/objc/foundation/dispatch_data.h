// dispatch_data: bytes with an owner, which Metal makes libraries from.
#pragma once

#include <dispatch/dispatch.h>

#include <string_view>

namespace softmetal::objc {

std::string_view bytes_of(dispatch_data_t data);  // while the data object lives

}  // namespace softmetal::objc
