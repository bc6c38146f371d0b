template <typename I>
[[kernel]] void f(device float* x [[buffer(0)]],
                  I id [[thread_position_in_grid]]) {}  // error: type 'I' is not allowed for parameter 'id' with attribute [[thread_position_in_grid]]
template [[host_name("f")]] [[kernel]] void f<float>(device float*, float);
