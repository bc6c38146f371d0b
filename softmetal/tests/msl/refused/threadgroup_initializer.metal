kernel void f() {
    threadgroup float x = 1.0f;  // error: a threadgroup variable cannot have an initializer
}
