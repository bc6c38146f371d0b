#include <metal_stdlib>
using namespace metal;

template <auto N>  // error: non-type template parameters declared with 'auto': a C++17 feature
int value() {
    return N;
}
template <class T>
struct Box {
    T value;
    Box(T v) : value(v) {}
};
template <class T>
concept Small = sizeof(T) < 4;  // error: unknown type name 'concept'
struct Args {
    int a, b;
};
struct Flags {
    uint low : 4 = 1;  // error: default member initializer for bit-field is a C++20 extension
};
int square(auto x) { return x * x; }  // error: 'auto' not allowed in function prototype

kernel void k(device int* out [[buffer(0)]]) {
    Box b(3);  // error: class template argument deduction: a C++17 feature
    Args args = {.a = 1, .b = 2};  // error: designated initializers are a C++20 extension
    int values[2] = {1, 2};
    for (int n = 4; auto x : values) out[0] = x;  // error: range-based for loop initialization statements are a C++20 extension
    out[1] = b.value + args.a;
}
