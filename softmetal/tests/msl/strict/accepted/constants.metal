#include <metal_stdlib>
using namespace metal;

// Constants of programs and classes.
constant constexpr static float kTable[3] = {1, 2, 3};
static constant constexpr uint kWidth = 32;
constant struct {
    float a;
    int b;
} kSettings = {1.5, 2};
enum Mode : uchar { kFast, kSlow = 4 };
enum class Kind { One, Two };
namespace {
constant float4 kColors[] = {float4(1), {0, 0, 0, 1}};
}
template <typename T>
constant constexpr T kPi = T(3.14159265);
struct Tile {
    static constant constexpr int rows = 8;
    static constexpr constant short columns = rows * 2;
    enum { kSize = rows * columns };
    using type = float;
    float values[kSize];
};
kernel void k(device float* out [[buffer(0)]]) {
    constexpr int n = 4;
    const float scale = 0.25;
    float values[n] = {};
    Tile tile;
    out[0] = kTable[1] * scale + kWidth + kSettings.b + kColors[1].w + kPi<float> + values[n - 1];
    out[1] = Tile::rows + Tile::columns + Tile::kSize + tile.values[0] + sizeof(Tile);
    Mode mode = kSlow;
    out[2] = mode == kFast ? M_PI_F : float(Kind::Two);
    constant float* table = kTable;
    out[3] = table[2] + INFINITY + FLT_MAX;
}
