struct Args { int n; };
kernel void f(constant Args args [[buffer(0)]]) {}  // error: parameter 'args' with attribute [[buffer]] must be a pointer or a reference
