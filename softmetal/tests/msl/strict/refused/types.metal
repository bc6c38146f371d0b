#include <metal_stdlib>
using namespace metal;

kernel void k(device float* out [[buffer(0)]]) {
    double sum = 0;  // error: 'double' is not supported in Metal
    long double more = 0;  // error: 'double' is not supported in Metal
    unsigned long long count = 1;  // error: 'long long' is not supported in Metal
    out[0] = 0.333L;  // error: 'long double' is not supported in Metal
    int n{out[0]};  // error: type 'device float' cannot be narrowed to 'int' in initializer list
}
bfloat narrow(float x) {
    return x;  // error: implicit conversion loses floating-point precision: 'float' to 'bfloat'
}
half cross(bfloat x) {
    return x;  // error: cannot initialize return object of type 'half' with an lvalue of type 'bfloat'
}
bfloat back(half x) {
    return x;  // error: cannot initialize return object of type 'bfloat' with an lvalue of type 'half'
}
uint bits(half x) {
    return as_type<uint>(x);  // error: as_type needs two types of the same size
}
