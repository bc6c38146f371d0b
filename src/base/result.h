#pragma once
// How failure travels: the world being wrong is a Result, our code being wrong is an assertion.
// Nothing under src/ throws, prints or exits.

#include <fmt/format.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace minfer {

// Callers act on the kind: one switch to an exit code, one to an HTTP status.
enum class Fault : uint8_t {
    BadInput,
    NotFound,
    Unsupported,
    OutOfMemory,
    Io,
    Device,
    Timeout,    // of a bound that somebody chose: the work may hang, or be slow
    NotFinite,  // what was computed is no number
    Cancelled,
};

struct Error {
    Fault fault = Fault::BadInput;
    std::string what;  // names the thing, what was found and what was allowed
};

// std::expected, made to warn when ignored.
template <class T = void>
struct [[nodiscard]] Result : std::expected<T, Error> {
    using std::expected<T, Error>::expected;
};

template <class... Args>
std::unexpected<Error> fail(Fault fault, fmt::format_string<Args...> text, Args&&... args) {
    return std::unexpected(Error{fault, fmt::format(text, std::forward<Args>(args)...)});
}

// The same error with the name of the thing that was being worked on in front; each boundary adds
// its own name once.
inline std::unexpected<Error> at(std::string_view name, Error error) {
    error.what = fmt::format("{}: {}", name, error.what);
    return std::unexpected(std::move(error));
}

// Prints the expression and place, then aborts. Active in every build.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace minfer

// The value, or hand its error to our caller. A whole statement or a whole initialiser, never part
// of a larger expression.
#define MINFER_TRY(expr)                                                              \
    __extension__({                                                                   \
        auto minfer_result = (expr);                                                  \
        if (!minfer_result) return std::unexpected(std::move(minfer_result).error()); \
        *std::move(minfer_result);                                                    \
    })

#define MINFER_ASSERT(condition) \
    ((condition) ? void(0) : ::minfer::assertion_failed(#condition, __FILE__, __LINE__))
