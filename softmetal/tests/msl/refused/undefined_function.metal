float helper(float x);
kernel void f(device float* x [[buffer(0)]]) { x[0] = helper(x[1]); }
// error 0: undefined function 'helper(float)'
