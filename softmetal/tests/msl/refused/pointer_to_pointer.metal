kernel void f(device float* device* x [[buffer(0)]]) {}  // error: parameter 'x' of kernel 'f' must not be a pointer to a pointer
