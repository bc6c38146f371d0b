#include <metal_stdlib>
using namespace metal;

float variable = 2;  // error: program scope variable must reside in constant address space
constexpr uint width = 32;  // error: program scope variable must reside in constant address space
const float4 colors[2] = {1, 2};  // error: program scope variable must reside in constant address space
constant float without_value;  // error: variable in constant address space must be initialized
extern float elsewhere;  // error: extern variable must reside in constant address space
namespace inner {
static int counter = 0;  // error: program scope variable must reside in constant address space
}
template <class T>
constexpr bool is_small = sizeof(T) < 4;  // error: program scope variable must reside in constant address space
struct Tile {
    static constexpr int size = 8;  // error: program scope variable must reside in constant address space
};
thread_local int per_thread = 0;  // error: 'thread_local' is not supported in Metal

kernel void k(device uint* out [[buffer(0)]]) {
    static uint calls = 0;  // error: variables in function scope cannot be declared static
    static constant uint primes[] = {2, 3, 5};  // error: variables in function scope cannot be declared static
    register uint fast = 1;  // error: Metal does not support the 'register' storage class specifier
    out[0] = fast;
}
