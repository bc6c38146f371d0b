#include <metal_stdlib>
using namespace metal;

struct Limits {
    float low, high;
    float range() const { return high - low; }
    void widen() device { high += 1; }
};
float in_device(device const float* p) { return p[0]; }
void to_threadgroup(threadgroup float* to, float from) { *to = from; }
float cut(const thread Limits& l, float x) { return min(max(x, l.low), l.high); }
thread float* give(device float* p) {
    return p;  // error: cannot initialize return object of type 'thread float *' with an lvalue of type 'device float *'
}
bool args_are(constant float* in) { return in[0] > 0; }
struct View {
    device float* data;
};

kernel void k(device float* out [[buffer(0)]], constant float* in [[buffer(1)]],
              device Limits* limits [[buffer(2)]], threadgroup float* shared [[threadgroup(0)]]) {
    float mine[4];
    thread float* a = out;  // error: cannot initialize a variable of type 'thread float *' with an lvalue of type 'device float *'
    device float* b = mine;  // error: cannot initialize a variable of type 'device float *' with an lvalue of type 'float[4]'
    const device float* c = in;  // error: cannot initialize a variable of type 'const device float *' with an lvalue of type 'constant float *'
    constant float* d = out;  // error: cannot initialize a variable of type 'constant float *' with an lvalue of type 'device float *'
    thread float& e = out[0];  // error: binding reference of type 'float' to value of type 'device float' changes address space
    View view = {shared};  // error: cannot initialize a member subobject of type 'device float *' with an lvalue of type 'threadgroup float *'
    out = shared;  // error: assigning 'threadgroup float *' to 'device float *' changes address space of pointer
    out[0] = in_device(in);  // error: no matching function for call to 'in_device'
    to_threadgroup(out, 1);  // error: no matching function for call to 'to_threadgroup'
    out[0] = ((device const float*)in)[0];  // error: C-style cast from 'constant float *' to 'const device float *' converts between mismatching address spaces
    out[0] = *reinterpret_cast<thread float*>(out);  // error: reinterpret_cast from 'device float *' to 'thread float *' is not allowed
    out[0] = cut(limits[0], 1);  // error: no matching function for call to 'cut'
    out[0] = limits->range();  // error: cannot initialize object parameter of type 'const Limits' with an expression of type 'device Limits'
    device float* either = args_are(in) ? out : shared;  // error: incompatible operand types ('device float *' and 'threadgroup float *')
    threadgroup float4 tile[2];
    thread float4* f = tile;  // error: cannot initialize a variable of type 'thread float4 *' with an lvalue of type 'threadgroup float4[2]'
    thread float4* g = &tile[0];  // error: cannot initialize a variable of type 'thread float4 *' with an rvalue of type 'threadgroup float4 *'
    out[0] = modf(1.5, out[1]);  // error: no matching function for call to 'modf'
}
