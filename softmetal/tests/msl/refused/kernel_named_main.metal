kernel void main(device int* o [[buffer(0)]]) {}  // error: a kernel cannot be named 'main'
