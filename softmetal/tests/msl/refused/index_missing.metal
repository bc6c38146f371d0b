kernel void f(device float* x [[buffer]]) {}  // error: 'buffer' attribute takes one argument
