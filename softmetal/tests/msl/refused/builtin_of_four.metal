#include <metal_stdlib>
kernel void f(uint4 id [[thread_position_in_grid]]) {}  // error: type 'uint4' is not allowed for parameter 'id' with attribute [[thread_position_in_grid]]
