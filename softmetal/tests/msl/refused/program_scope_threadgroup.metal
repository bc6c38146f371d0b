threadgroup float shared[32];  // error: program scope variable 'shared' must be in the constant address space
kernel void f() {}
