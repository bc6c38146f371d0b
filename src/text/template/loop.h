#pragma once
// The `loop` variable, and the names that printing needs of what the interpreter owns.

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "text/template/runtime.h"

namespace minfer::jinja {

// As lazy as Jinja's: the next item is fetched when asked for (last, nextitem) and the rest only
// for a length that is not known.
struct Loop {
    // Yields the items that pass the loop's filter, one by one.
    using Source = std::function<Result<std::optional<Value>>()>;

    Source source;
    std::optional<int64_t> known_length;
    int64_t index0 = -1;
    std::optional<Value> previous, current;
    std::vector<Value> ahead;  // fetched early, in reverse order
    std::optional<Value> last_changed;

    Result<std::optional<Value>> advance();  // to the next item; nullopt at the end
    Result<int64_t> length();
    Result<const Value*> peek();  // the next item, or null

    // loop.name; nullopt if there is no such attribute. cycle and changed come as methods.
    Result<std::optional<Value>> attribute(std::string_view name);
};

std::string_view macro_name(const Macro& macro);

}  // namespace minfer::jinja
