#include <metal_stdlib>
kernel void f(uint2 lane [[thread_index_in_simdgroup]]) {}  // error: type 'uint2' is not allowed for parameter 'lane' with attribute [[thread_index_in_simdgroup]]
