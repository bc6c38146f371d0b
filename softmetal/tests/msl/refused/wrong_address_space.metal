kernel void f(thread float* x [[buffer(0)]]) {}  // error: parameter 'x' with attribute [[buffer]] must be in the device or constant address space, not in thread
