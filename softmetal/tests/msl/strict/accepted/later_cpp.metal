#include <metal_stdlib>
using namespace metal;

// What Apple's compiler takes of C++17 as an extension.
namespace a::b {
constant int kTwo = 2;
}
template <class... T>
constexpr int count_of(T... values) {
    return (0 + ... + int(sizeof(values)));
}
template <class... T>
void store(device int* out, T... values) {
    int i = 0;
    ((out[i++] = values), ...);
}
struct Pair {
    int first, second;
};
static_assert(sizeof(Pair) == 8);
template <template <class> typename Holder, class T>
T held(Holder<T> h) {
    return h.value;
}
template <class T>
struct Holder {
    T value;
};
[[nodiscard]] int kept() { return a::b::kTwo; }

kernel void k(device int* out [[buffer(0)]], [[maybe_unused]] uint i [[thread_position_in_grid]]) {
    auto [x, y] = Pair{1, 2};
    if constexpr (sizeof(x) == 4) out[0] = x;
    if (int z = y; z > 1) out[1] = z;
    switch (out[2]) {
        case 1:
            out[3] = 0;
            [[fallthrough]];
        default: break;
    }
    store(out + 4, 1, 2, 3);
    out[8] = count_of(1, 2.0f) + held(Holder<int>{3}) + kept();
    out[9] = 0b101 + 1'000;
}
