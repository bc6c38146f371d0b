kernel void k(device int* éÿ [[buffer(0)]]) {}  // error: a name that is not valid UTF-8
