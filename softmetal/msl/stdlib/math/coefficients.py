#!/usr/bin/env python3
"""Prints the polynomial coefficients that stand in this folder's headers. Needs mpmath.

Each polynomial is fitted by Remez's exchange, in relative error of the function it serves; then its
coefficients are rounded from the lowest upwards to the precision they are used in, and those still
free are fitted again after each rounding.
"""
import struct
import sys

import mpmath as mp

mp.mp.prec = 200


def to_float(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_double(x):
    return mp.mpf(float(x))


def remez(target, weight, powers, lo, hi, fixed):
    """Coefficients for `powers`, the fixed ones given, that minimise |weight * (poly - target)|."""
    n = len(powers)

    def residual(x):
        return target(x) - sum(c * x**p for p, c in fixed.items())

    nodes = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n + 2)) for i in range(n + 1)]
    best = None
    for _ in range(12):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            for j, p in enumerate(powers):
                a[i, j] = x**p * weight(x)
            a[i, n] = (-1) ** i
            b[i] = residual(x) * weight(x)
        s = mp.lu_solve(a, b)
        coef = [s[j] for j in range(n)]

        def error(x):
            return weight(x) * (sum(c * x**p for c, p in zip(coef, powers)) - residual(x))

        grid = [lo + (hi - lo) * mp.mpf(i) / 400 for i in range(401)]
        values = [error(x) for x in grid]
        worst = max(abs(v) for v in values)
        if best is None or worst < best[0]:
            best = (worst, coef)
        # Extremes of alternating sign.
        picks = []
        for x, v in zip(grid, values):
            if picks and (picks[-1][1] > 0) == (v > 0):
                if abs(v) > abs(picks[-1][1]):
                    picks[-1] = (x, v)
            else:
                picks.append((x, v))
        while len(picks) > n + 1:
            picks.pop(0 if abs(picks[0][1]) < abs(picks[-1][1]) else -1)
        if len(picks) < n + 1:
            break
        nodes = [x for x, _ in picks]
    return best


def fit(name, target, weight, powers, lo, hi, rounding):
    fixed = {}
    free = list(powers)
    worst = None
    while free:
        worst, coef = remez(target, weight, free, mp.mpf(lo), mp.mpf(hi), fixed)
        p = free.pop(0)
        fixed[p] = rounding(coef[0])
    grid = [mp.mpf(lo) + (mp.mpf(hi) - mp.mpf(lo)) * i / 1000 for i in range(1001)]
    worst = max(abs(weight(x) * (sum(c * x**p for p, c in fixed.items()) - target(x))) for x in grid)
    print(f"{name}: relative error 2^{float(mp.log(worst, 2)):.1f}")
    for p in powers:
        print(f"    x^{p}: {float(fixed[p]).hex()}")


def near0(f, at0):
    """f, with its limit where its formula divides by zero."""
    return lambda x: at0 if abs(x) < mp.mpf(2) ** -60 else f(x)


half_ln2 = mp.log(2) / 2 * mp.mpf("1.01")
quarter_pi = mp.pi / 4 * mp.mpf("1.01")
root = mp.sqrt(2)

# e^r = 1 + r + r^2 P(r)
exp_p = near0(lambda r: (mp.exp(r) - 1 - r) / r**2, mp.mpf(1) / 2)
exp_w = lambda r: r**2 / mp.exp(r)
fit("exp, float", exp_p, exp_w, range(5), -half_ln2, half_ln2, to_float)
fit("exp, double", exp_p, exp_w, range(9), -half_ln2, half_ln2, to_double)

# log(1 + f) = f - f^2/2 + f^3 P(f)
log_p = near0(lambda f: (mp.log(1 + f) - f + f**2 / 2) / f**3, mp.mpf(1) / 3)
log_w = near0(lambda f: f**3 / mp.log(1 + f), mp.mpf(0))
fit("log, float", log_p, log_w, range(9), 1 / root - 1, root - 1, to_float)

# log((1 + s) / (1 - s)) = 2 s + s^3 P(s^2), z = s^2
log2_p = near0(lambda z: (mp.log((1 + mp.sqrt(z)) / (1 - mp.sqrt(z))) / mp.sqrt(z) - 2) / z, mp.mpf(2) / 3)
fit("log, double", log2_p, lambda z: z / 2, range(6), 0, mp.mpf("0.0296"), to_double)

# sin(r) = r + r^3 P(z), cos(r) = 1 - z/2 + z^2 Q(z), z = r^2
sin_p = near0(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6)
sin_w = near0(lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)), mp.mpf(0))
cos_p = near0(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24)
cos_w = lambda z: z**2 / mp.cos(mp.sqrt(z))
fit("sin, float", sin_p, sin_w, range(4), 0, quarter_pi**2, to_float)
fit("cos, float", cos_p, cos_w, range(3), 0, quarter_pi**2, to_float)
fit("sin, double", sin_p, sin_w, range(6), 0, quarter_pi**2, to_double)
fit("cos, double", cos_p, cos_w, range(5), 0, quarter_pi**2, to_double)

# tanh(x) = x + x^3 P(z), |x| <= 0.625
tanh_p = near0(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3)
tanh_w = near0(lambda z: z * mp.sqrt(z) / mp.tanh(mp.sqrt(z)), mp.mpf(0))
fit("tanh, float", tanh_p, tanh_w, range(5), 0, mp.mpf("0.625") ** 2, to_float)

# sinh(x) = x + x^3 P(z), |x| <= 1
sinh_p = near0(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(1) / 6)
sinh_w = near0(lambda z: z * mp.sqrt(z) / mp.sinh(mp.sqrt(z)), mp.mpf(0))
fit("sinh, double", sinh_p, sinh_w, range(5), 0, 1, to_double)

# atan(t) = t + t^3 P(z), |t| <= tan(pi/8)
atan_p = near0(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3)
atan_w = near0(lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), mp.mpf(0))
fit("atan, double", atan_p, atan_w, range(8), 0, mp.mpf("0.1716"), to_double)

print("constants")
for name, value in (("ln 2", mp.log(2)), ("log2 e", 1 / mp.log(2)), ("log10 e", 1 / mp.log(10)),
                    ("log10 2", mp.log10(2)), ("ln 10", mp.log(10)), ("pi/2", mp.pi / 2), ("2/pi", 2 / mp.pi)):
    hi = to_float(value)
    mid = to_float(value - hi)
    low = to_float(value - hi - mid)
    print(f"    {name}: {float(hi).hex()} + {float(mid).hex()} + {float(low).hex()}")
    d = to_double(value)
    print(f"        double {float(d).hex()} + {float(to_double(value - d)).hex()}")
mp.mp.prec = 400
bits = int(mp.floor(mp.mpf(2) ** 247 * 2 / mp.pi))
print("    2/pi / 512, 256 bits:", " ".join(f"0x{bits >> s & (2**64 - 1):016x}" for s in (192, 128, 64, 0)))
