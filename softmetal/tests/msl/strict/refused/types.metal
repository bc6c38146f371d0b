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
    return x;  // error: no viable conversion from returned value of type 'float' to function return type 'bfloat'
}
half cross(bfloat x) {
    return x;  // error: no viable conversion from returned value of type 'bfloat' to function return type 'half'
}
bfloat back(half x) {
    return x;  // error: no viable conversion from returned value of type 'half' to function return type 'bfloat'
}
uint bits(half x) {
    return as_type<uint>(x);  // error: as_type needs two types of the same size
}
constant bfloat kOne = 1.0;  // error: no viable conversion from 'float' to 'constant bfloat'
void add(thread bfloat& sum, float x) {
    sum += x;  // error: no viable overloaded '+='
}
