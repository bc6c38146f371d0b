kernel void f(device float* x [[buffer(0)]],
              uint id [[thread_position_in_universe]]) {}  // error: unknown attribute 'thread_position_in_universe' on parameter 'id'
