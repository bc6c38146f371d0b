struct S { int n; };
constant S s [[function_constant(0)]];  // error: a function constant must be a scalar or a vector
kernel void f() {}
