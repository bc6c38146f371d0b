#pragma once
// The filters and tests we run, by name.

#include <string_view>

#include "text/template/runtime.h"

namespace minfer::jinja {

struct FilterInfo {
    std::string_view name;
    Result<Value> (*run)(Runtime&, const Value&, const Args&);
};
struct TestInfo {
    std::string_view name;
    Result<bool> (*run)(Runtime&, const Value&, const Args&);
};

const FilterInfo* find_filter(std::string_view name);  // null: not ours
const TestInfo* find_test(std::string_view name);

}  // namespace minfer::jinja
