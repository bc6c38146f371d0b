kernel void f(device float* x [[buffer(31)]]) {}  // error: 'buffer' attribute parameter is out of bounds: must be between 0 and 30
