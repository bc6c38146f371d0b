kernel void f(device float* x [[threadgroup(0)]]) {}  // error: parameter 'x' with attribute [[threadgroup]] must be in the threadgroup address space, not in device
