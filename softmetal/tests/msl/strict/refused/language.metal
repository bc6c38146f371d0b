#include <metal_stdlib>
using namespace metal;

struct Shape {
    virtual float area() const;  // error: virtual functions are not supported in Metal
};
struct Square : Shape {};
float sum(int n, ...);  // error: invalid prototype, variadic arguments are not allowed in Metal
void main() {}  // error: non-qualified function cannot be called 'main'

void f(int x, thread Shape* shape) {
    auto twice = [](int y) { return 2 * y; };  // error: lambda expressions are not supported in Metal
    if (x < 0) throw x;  // error: cannot use 'throw' with exceptions disabled
    try {  // error: cannot use 'try' with exceptions disabled
    } catch (...) {
    }
    thread int* p = new int;  // error: 'new' is not supported in Metal
    delete p;  // error: 'delete' is not supported in Metal
    goto end;  // error: 'goto' is not supported in Metal
    asm("nop");  // error: inline assembly is not supported in Metal
    auto square = dynamic_cast<thread Square*>(shape);  // error: 'dynamic_cast' is not supported in Metal
    bool same = typeid(x) == typeid(int);  // error: 'typeid' is not supported in Metal
end:;
}
