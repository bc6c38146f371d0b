#include <metal_stdlib>
using namespace metal;
kernel void class(device int* o [[buffer(0)]]) { o[0] = 1; }  // error: 'class' is a keyword and cannot name a kernel
