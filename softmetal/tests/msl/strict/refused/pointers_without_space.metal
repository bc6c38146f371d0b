#include <metal_stdlib>
using namespace metal;

float parameter(const float* values);  // error: pointer type must have explicit address space qualifier
void reference(float4& v);  // error: reference type must have explicit address space qualifier
float* result(device float* p) { return p + 1; }  // error: pointer type must have explicit address space qualifier
void array(float (&values)[4]);  // error: reference type must have explicit address space qualifier
struct Row {
    uint count;
    float* values;  // error: pointer type must have explicit address space qualifier
};
template <class T>
T of_template(const T* values);  // error: pointer type must have explicit address space qualifier
kernel void k(device float* out [[buffer(0)]]) {
    float* variable = out + 1;  // error: pointer type must have explicit address space qualifier
    auto& deduced = out[0];  // error: reference type must have explicit address space qualifier
    out[2] = *(uint*)out;  // error: pointer type must have explicit address space qualifier
    Row* row = nullptr;  // error: pointer type must have explicit address space qualifier
    out[3] = ((Row*)out)->count;  // error: pointer type must have explicit address space qualifier
    void* nothing = out;  // error: pointer type must have explicit address space qualifier
}
