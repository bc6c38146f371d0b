#include "text/template/loop.h"

#include <algorithm>

namespace minfer::jinja {

Result<std::optional<Value>> Loop::advance() {
    std::optional<Value> item;
    if (!ahead.empty()) {
        item = std::move(ahead.back());
        ahead.pop_back();
    } else {
        item = MINFER_TRY(source());
    }
    if (!item) return std::optional<Value>();
    ++index0;
    previous = std::move(current);
    current = item;
    return item;
}

Result<const Value*> Loop::peek() {
    if (ahead.empty()) {
        auto item = MINFER_TRY(source());
        if (!item) return nullptr;
        ahead.push_back(*std::move(item));
    }
    return &ahead.back();
}

Result<int64_t> Loop::length() {
    if (known_length) return *known_length;
    std::vector<Value> rest(ahead.rbegin(), ahead.rend());
    while (true) {
        auto item = MINFER_TRY(source());
        if (!item) break;
        rest.push_back(*std::move(item));
    }
    ahead.assign(rest.rbegin(), rest.rend());
    known_length = index0 + 1 + static_cast<int64_t>(ahead.size());
    return *known_length;
}

Result<std::optional<Value>> Loop::attribute(std::string_view name) {
    if (name == "index") return make_int(index0 + 1);
    if (name == "index0") return make_int(index0);
    if (name == "first") return make_bool(index0 == 0);
    if (name == "depth") return make_int(1);
    if (name == "depth0") return make_int(0);
    if (name == "length" || name == "revindex" || name == "revindex0") {
        const auto n = MINFER_TRY(length());
        return make_int(name == "length" ? n : name == "revindex" ? n - index0 : n - index0 - 1);
    }
    if (name == "previtem")
        return index0 == 0 ? undefined("there is no previous item")
                           : previous.value_or(undefined("there is no previous item"));
    if (name == "last" || name == "nextitem") {
        const Value* next = MINFER_TRY(peek());
        if (name == "last") return make_bool(next == nullptr);
        return next ? *next : undefined("there is no next item");
    }
    if (name == "cycle" || name == "changed")
        return Value{std::make_shared<const Method>(Method{Value{this}, std::string(name)})};
    return std::optional<Value>();
}

}  // namespace minfer::jinja
