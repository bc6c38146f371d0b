#include <metal_stdlib>
using namespace metal;

// Structures move between all address spaces, as wholes and in parts.
struct Vertex {
    float4 position;
    packed_float3 normal;
    uint flags[2];
};
union Bits {
    float f;
    uint u;
    uchar4 bytes;
    Vertex v;
};
struct Mesh {
    Vertex vertices[4];
    Bits bits;
};
constant Vertex kOrigin = {float4(0, 0, 0, 1), {0, 1, 0}, {1, 2}};

Vertex moved(Vertex v, float4 by) {
    v.position += by;
    return v;
}
kernel void k(device Mesh* meshes [[buffer(0)]], constant Mesh& source [[buffer(1)]],
              device Vertex* out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    threadgroup Vertex shared[8];
    threadgroup Mesh whole;
    Vertex v = source.vertices[0];
    Vertex mine[2] = {out[i], kOrigin};
    out[i] = v;
    out[i + 1] = source.vertices[1];
    shared[0] = out[i + 2];
    shared[1] = kOrigin;
    out[i + 3] = shared[1];
    meshes[0] = source;
    whole = meshes[1];
    Mesh copy = whole;
    copy.bits.u = as_type<uint>(copy.vertices[2].normal.x);
    Bits b = meshes[2].bits;
    meshes[3].bits = b;
    out[0] = moved(out[1], source.vertices[2].position);
    out[1] = moved(mine[1], shared[0].position);
    device Vertex& first = meshes[0].vertices[0];
    first.flags[1] = 3;
    first = moved(first, float4(1));
    thread Vertex* p = &mine[0];
    *p = first;
    out[2] = *p;
}
