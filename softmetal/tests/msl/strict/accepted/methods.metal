#include <metal_stdlib>
using namespace metal;

// Methods belong to the thread unless they name another space, and are overloaded by it.
struct Complex {
    float re, im;
    constexpr Complex(float r, float i) thread : re(r), im(i) {}
    constexpr Complex(float r = 0) thread : re(r), im(0) {}
    constexpr Complex(float r = 0) constant : re(r), im(0) {}
    constexpr operator float() const thread { return re; }
    constexpr operator float() const threadgroup { return re; }
    constexpr operator float() const device { return re; }
    constexpr operator float() const constant { return re; }
    float squared() const { return re * re + im * im; }
    float squared() const device { return re * re + im * im; }
    void clear() { re = im = 0; }
    thread float& real() { return re; }
    const thread float& imaginary() const { return im; }
    static Complex unit() { return Complex(0, 1); }
};
constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
constexpr thread Complex& operator+=(thread Complex& a, Complex b) {
    a.re += b.re;
    return a;
}
constexpr device Complex& operator+=(device Complex& a, Complex b) {
    a.re += b.re;
    return a;
}
struct Square {
    template <class T>
    T operator()(T x) const {
        return x * x;
    }
};
template <class Op, class T>
T apply(T x) {
    return Op()(x) + Op{}(x);
}

kernel void k(device Complex* z [[buffer(0)]], constant Complex* c [[buffer(1)]],
              device float* out [[buffer(2)]]) {
    threadgroup float shared[32];
    Complex a(1, 2), b = c[0];
    a.real() = 3;
    a += z[0];
    z[1] += a * b;
    out[0] = a.squared() + z[0].squared() + a.imaginary();
    out[1] = z[2];
    out[2] = float(c[1]) + static_cast<float>(b);
    out[3] = Complex::unit().squared() + Complex(3).squared();
    out[4] = apply<Square>(2.0f);
    b.clear();
    shared[0] = b;
}

// What functions return, and the iterators of a range.
struct Cursor {
    thread float* at;
    thread float& operator*() { return *at; }
    thread Cursor& operator++() {
        at++;
        return *this;
    }
    bool operator!=(Cursor other) const { return at != other.at; }
};
struct Row {
    float values[4];
    Cursor begin() { return {values}; }
    Cursor end() { return {values + 4}; }
    Row doubled() const { return *this; }
    float sum() {
        float s = 0;
        for (auto v : *this) s += v;
        return s;
    }
};
kernel void sums(device Row* rows [[buffer(0)]], device float* out [[buffer(1)]]) {
    Row row = rows[0];
    out[0] = row.doubled().sum() + row.doubled().doubled().sum();
    for (thread float& v : row.values) v = 0;
    rows[1] = out[1] > 0 ? rows[2] : row;
}
