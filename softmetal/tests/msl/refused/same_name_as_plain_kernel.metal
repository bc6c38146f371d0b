kernel void f() {}
template <int N> [[kernel]] void g(device int* x [[buffer(0)]]) {}
template [[host_name("f")]] [[kernel]] void g<1>(device int*);  // error: another kernel is named 'f' already
