template <typename T> [[kernel]] void f(device T* x [[buffer(0)]]) {}
template [[host_name("f")]] [[kernel]] void f<float>(device float*);
template [[host_name("f")]] [[kernel]] void f<int>(device int*);  // error: another kernel is named 'f' already
