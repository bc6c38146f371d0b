#include <metal_stdlib>
using namespace metal;

struct Args {
    uint n;
    float4 scale;
    float weights[4];
};
constant float table[4] = {1, 2, 3, 4};

kernel void k(constant Args& args [[buffer(0)]], constant uint* counts [[buffer(1)]]) {
    args.n = 1;  // error: cannot assign to variable 'args' with const-qualified type 'constant Args &'
    args.weights[0] = 1;  // error: cannot assign to variable 'args' with const-qualified type 'constant Args &'
    counts[0]++;  // error: read-only variable is not assignable
    table[1] = 2;  // error: cannot assign to variable 'table' with const-qualified type
    constant float local_scale = 2;  // error: automatic variable qualified with an address space
    device float other = 2;  // error: automatic variable qualified with an address space
}
float value(device float x) { return 2 * x; }  // error: parameter may not be qualified with an address space
