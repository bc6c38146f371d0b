kernel void f(device float* x [[buffer(0), thread_position_in_grid]]) {}  // error: parameter 'x' has more than one of [[buffer]], [[threadgroup]] and built-in attributes
