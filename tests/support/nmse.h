#pragma once
// The one measure of "how far from the reference": sum of squared differences over sum of squared
// reference values.

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace minfer::test {

// Infinity when sizes differ or a value is not finite, so that a comparison with a bar fails.
template <class Got, class Want>
double nmse(const Got& got_range, const Want& want_range) {
    const auto got = std::span(got_range);
    const auto want = std::span(want_range);
    double error = 0, power = 0;
    if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < got.size(); ++i) {
        const double a = got[i], b = want[i];
        if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
        error += (a - b) * (a - b);
        power += b * b;
    }
    if (error == 0) return 0;
    return power > 0 ? error / power : std::numeric_limits<double>::infinity();
}

}  // namespace minfer::test
