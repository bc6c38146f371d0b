#pragma once
// std::ranges::contains, which libstdc++ 12 lacks.

#include <algorithm>
#include <functional>

namespace minfer::jinja {

template <class List, class T, class Projection = std::identity>
bool contains(const List& list, const T& value, Projection projection = {}) {
    return std::ranges::find(list, value, projection) != std::ranges::end(list);
}

}  // namespace minfer::jinja
