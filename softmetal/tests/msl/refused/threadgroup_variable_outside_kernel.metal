float f(float x) {
    threadgroup float y[4];  // error: variable 'y' in the threadgroup address space must be declared in a kernel
    return y[0] + x;
}
