#include <metal_stdlib>
using namespace metal;

// References to constants of the thread take temporaries.
struct Span {
    short begin, end;
    short size() const { return end - begin; }
    Span shifted(short by) const { return {short(begin + by), short(end + by)}; }
};
short size_of(const thread Span& s) { return s.size(); }
float mixed(thread const float& a, const thread float& b, float t) { return a + (b - a) * t; }
template <typename T>
T first_of(const thread T& a, const thread T& b) {
    return a;
}
struct Scale {
    float by;
    float operator()(const thread float& x) const { return x * by; }
};
kernel void k(device float* out [[buffer(0)]]) {
    Span s = {1, 4};
    out[0] = size_of(s) + size_of(Span{2, 3}) + size_of(s.shifted(1));
    out[1] = mixed(1.0f, out[2] * 2, 0.5f) + mixed(out[0] + 1, 2, 0.5f);
    out[2] = first_of(1.0f, 2.0f) + first_of(s, s.shifted(2)).begin;
    out[3] = s.shifted(1).shifted(2).size();
    Scale twice = {2};
    out[4] = twice(out[4] + 1) + Scale{3}(1.0f);
    const thread float& kept = out[5] + 1;
    out[6] = kept;
}
