kernel void f(device float* x [[buffer(0)]]) {
    float   y = x[0]  // error: expected ';' at end of declaration
    x[1] = y;
}
