kernel void f(device float* x [[buffer(1)]],
              device float* y [[buffer(0)]],
              constant float& z [[buffer(1)]]) {}  // error: parameter 'z' uses buffer index 1, which another parameter has already
