kernel void f(device float* x [[buffer(0)]]) {
    if (x[0] > 0) {
        x[1] = 0;
}  // error: expected '}'
