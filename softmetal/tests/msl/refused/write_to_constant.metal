kernel void f(constant float* x [[buffer(0)]]) {
    x[0] = 1;  // error: read-only variable is not assignable
}
