#include <metal_stdlib>
using namespace metal;

uint factorial(uint n) {
    return n < 2 ? 1 : n * factorial(n - 1);  // error: recursive call of function 'factorial': Metal does not support recursion
}
bool is_odd(uint n);
bool is_even(uint n) { return n == 0 ? true : is_odd(n - 1); }
bool is_odd(uint n) {
    return n == 0 ? false : is_even(n - 1);  // error: recursive call of function 'is_even'
}
inline uint not_called(uint n) {
    return n ? not_called(n / 2) : 0;  // error: recursive call of function 'not_called'
}
struct Tree {
    uint depth;
    uint walk(uint at) const {
        return at == depth ? 0 : 1 + walk(at + 1);  // error: recursive call of function 'walk'
    }
};
template <class T>
T sum(T n) {
    if (n < 1) return n;
    return n + sum(n - 1);  // error: recursive call of function 'sum<float>'
}
kernel void k(device uint* out [[buffer(0)]]) {
    Tree t = {out[0]};
    out[0] = factorial(out[0]);
    out[1] = is_even(out[1]);
    out[2] = t.walk(0);
    out[3] = sum(2.5f);
}
