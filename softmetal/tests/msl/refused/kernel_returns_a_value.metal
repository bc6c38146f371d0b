kernel int f(device int* x [[buffer(0)]]) { return x[0]; }  // error: kernel 'f' must have void return type
