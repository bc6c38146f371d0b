typedef device float* Row;
kernel void f(device Row* x [[buffer(0)]]) {}  // error: parameter 'x' with attribute [[buffer]] must be a pointer or a reference to a value without pointers to pointers
