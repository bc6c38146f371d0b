struct In { float4 p; };
kernel void f(In in [[stage_in]]) {}  // error: [[stage_in]] is not supported: softmetal runs compute kernels on buffers
