struct Args { int n; };
kernel void f(const Args& args) {}  // error: reference type must have explicit address space qualifier
