// How softmetal's own code says that something failed: a value, or one sentence saying why.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace softmetal {

template <class T = void>
struct [[nodiscard]] Result : std::expected<T, std::string> {
    using std::expected<T, std::string>::expected;
};

inline std::unexpected<std::string> fail(std::string why) {
    return std::unexpected(std::move(why));
}

}  // namespace softmetal

// The value of a Result, or returns its error to our caller. A whole statement or initialiser.
#define SOFTMETAL_TRY(expr)                                                   \
    __extension__({                                                           \
        auto sm_result = (expr);                                              \
        if (!sm_result) return std::unexpected(std::move(sm_result).error()); \
        *std::move(sm_result);                                                \
    })
