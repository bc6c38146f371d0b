#define SQUARE(x) ((x) * (x))
kernel void f(device float* x [[buffer(0)]], uint id [[thread_position_in_grid]]) {
    x[id] = SQUARE(value);  // error: use of undeclared identifier 'value'
}
