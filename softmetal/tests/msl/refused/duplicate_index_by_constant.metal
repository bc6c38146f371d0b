enum { kInput = 2, kOutput = kInput };
kernel void f(device float* x [[buffer(kInput)]],
              device float* y [[buffer(kOutput)]]) {}  // error: two parameters of kernel 'f' have the same buffer index
