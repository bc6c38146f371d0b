constant int n [[function_constant(0)]] = 3;  // error: a function constant is declared as 'constant TYPE NAME [[function_constant(INDEX)]];'
kernel void f() {}
