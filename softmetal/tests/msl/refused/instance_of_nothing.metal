template <typename T> void helper(device T* x) {}
template [[host_name("h")]] [[kernel]] void helper<float>(device float*);  // error: explicit instantiation does not name a kernel template
