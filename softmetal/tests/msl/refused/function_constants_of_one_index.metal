constant int a [[function_constant(0)]];
constant constexpr int kZero = 0;
constant float b [[function_constant(kZero)]];  // error: function constant 'b' has the index of 'a'
kernel void k(device float* o [[buffer(0)]]) { o[0] = a + b; }
