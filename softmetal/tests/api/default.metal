// The library that the tests find beside their program.
kernel void answer(device uint* out [[buffer(0)]]) { out[0] = 42; }
