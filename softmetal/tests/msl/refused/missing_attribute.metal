kernel void f(device float* x [[buffer(0)]],
              uint id) {  // error: parameter 'id' of kernel 'f' needs an attribute such as [[buffer(0)]] or [[thread_position_in_grid]]
    x[id] = 0;
}
