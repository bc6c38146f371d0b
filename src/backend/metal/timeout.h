#pragma once
// How the error of a wait that was too short is told from other errors of the device: whoever chose
// the bound can say how to choose another. The device may hang, or be slow.

#include <string_view>

#include "base/result.h"

namespace minfer::metal {

// Every such error says it, and how long was waited.
inline constexpr std::string_view kDidNotEndWithin = "did not end within";

inline bool is_timeout(const Error& error) {
    return error.fault == Fault::Device && error.what.contains(kDidNotEndWithin);
}

}  // namespace minfer::metal
