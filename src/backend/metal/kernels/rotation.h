#pragma once
// The rotation of pairs, shared by every kernel that rotates, so that all give the same bits.

#include <metal_stdlib>

#include "cells.h"
#include "packed.h"

// T: float for one pair, float4 for four neighbours.
template <typename T>
struct Pairs {
    T a, b;

    Pairs rotated(T cosine, T sine) const { return {a * cosine - b * sine, a * sine + b * cosine}; }
};

template <typename T>
static Pairs<T> operator+(Pairs<T> x, Pairs<T> y) {
    return {x.a + y.a, x.b + y.b};
}

// Interleaved: pair i is (2i, 2i + 1); else (i, i + half_dim).
template <bool kInterleaved>
struct PairLayout {
    static Pairs<float> load(device const float* head, uint half_dim, uint i) {
        if (kInterleaved) return {head[2 * i], head[2 * i + 1]};
        return {head[i], head[i + half_dim]};
    }
    static void store(device float* head, uint half_dim, uint i, Pairs<float> pair) {
        store<F32Cell>(reinterpret_cast<device uchar*>(head), 0, half_dim, i, pair);
    }
    // The head that begins at element `at` of a cell.
    template <typename Cell>
    static void store(device uchar* cell, uint at, uint half_dim, uint i, Pairs<float> pair) {
        Cell::store(cell, at + (kInterleaved ? 2 * i : i), pair.a);
        Cell::store(cell, at + (kInterleaved ? 2 * i + 1 : i + half_dim), pair.b);
    }
    // Pairs i to i + 3.
    static Pairs<metal::float4> load_four(device const float* head, uint half_dim, uint i) {
        if (!kInterleaved) return {load4(head + i), load4(head + i + half_dim)};
        const metal::float4 low = load4(head + 2 * i), high = load4(head + 2 * i + 4);
        return {metal::float4(low.xz, high.xz), metal::float4(low.yw, high.yw)};
    }
    static void store_four(device float* head, uint half_dim, uint i, Pairs<metal::float4> four) {
        store_four<F32Cell>(reinterpret_cast<device uchar*>(head), 0, half_dim, i, four);
    }
    template <typename Cell>
    static void store_four(device uchar* cell, uint at, uint half_dim, uint i,
                           Pairs<metal::float4> four) {
        if (kInterleaved) {
            const metal::float4 low(four.a.x, four.b.x, four.a.y, four.b.y);
            const metal::float4 high(four.a.z, four.b.z, four.a.w, four.b.w);
            Cell::store(cell, at + 2 * i, low);
            Cell::store(cell, at + 2 * i + 4, high);
        } else {
            Cell::store(cell, at + i, four.a);
            Cell::store(cell, at + i + half_dim, four.b);
        }
    }
};
