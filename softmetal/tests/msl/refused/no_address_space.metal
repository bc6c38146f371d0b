kernel void f(float* x [[buffer(0)]]) {}  // error: pointer type must have explicit address space qualifier
