[[kernel, max_threads(32)]] void f(device float* x [[buffer(0)]]) {}  // error: unknown attribute 'max_threads' on kernel 'f'
