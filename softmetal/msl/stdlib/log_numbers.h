// Numbers as printf prints them, for os_log: kernels have no C library.
#pragma once

namespace metal::sm {

// A line under construction; what does not fit is cut off.
struct log_line {
    char text[512];
    int used = 0;

    void put(char c) {
        if (used < static_cast<int>(sizeof text) - 1) text[used++] = c;
    }
    void put(const char* s) {
        while (*s) put(*s++);
    }
};

struct log_format {
    bool left = false, zero = false, plus = false, space = false, alternate = false;
    int width = 0, precision = -1;
};

inline void put_padded(log_line& line, const log_format& f, const char* prefix, const char* body,
                       int length, bool zeros_allowed) {
    int prefix_length = 0;
    while (prefix[prefix_length]) prefix_length++;
    int padding = f.width - prefix_length - length;
    bool zeros = f.zero && !f.left && zeros_allowed;
    if (!f.left && !zeros) {
        for (; padding > 0; padding--) line.put(' ');
    }
    line.put(prefix);
    if (zeros) {
        for (; padding > 0; padding--) line.put('0');
    }
    for (int i = 0; i < length; i++) line.put(body[i]);
    for (; padding > 0; padding--) line.put(' ');
}

inline void put_integer(log_line& line, const log_format& f, ulong magnitude, bool negative,
                        unsigned base, bool upper) {
    char body[72];
    int at = sizeof body;
    do {
        unsigned digit = static_cast<unsigned>(magnitude % base);
        body[--at] = static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
        magnitude /= base;
    } while (magnitude != 0 && at > 0);
    int wanted = f.precision < 0 ? 1 : f.precision < 64 ? f.precision : 64;
    while (static_cast<int>(sizeof body) - at < wanted) body[--at] = '0';
    const char* sign = negative ? "-" : f.plus ? "+" : f.space ? " " : "";
    if (f.alternate && base == 16) sign = upper ? "0X" : "0x";
    put_padded(line, f, sign, body + at, static_cast<int>(sizeof body) - at, f.precision < 0);
}

// Every digit of a float is right: it is a whole number of 2^-149, held here in base 10^9.
struct decimal {
    static constexpr int kBelow = 17, kAbove = 5;  // 10^-153 .. 10^45
    unsigned limb[kBelow + kAbove] = {};           // the lowest first

    explicit decimal(float x) {
        unsigned bits = __builtin_bit_cast(unsigned, x), exponent = bits >> 23 & 255;
        unsigned mantissa = exponent ? (bits & 0x7fffff) | 0x800000 : bits & 0x7fffff;
        limb[kBelow] = mantissa;
        int shift = static_cast<int>(exponent ? exponent : 1) - 150;
        for (; shift > 0; shift--) {
            unsigned carry = 0;
            for (unsigned& l : limb) {
                unsigned doubled = l * 2 + carry;
                carry = doubled >= 1000000000u;
                l = doubled - (carry ? 1000000000u : 0u);
            }
        }
        for (; shift < 0; shift++) {
            unsigned rest = 0;
            for (int i = kBelow + kAbove - 1; i >= 0; i--) {
                unsigned whole = limb[i] + rest * 1000000000u;
                rest = whole & 1;
                limb[i] = whole / 2;
            }
        }
    }
    // The digit of weight 10^place.
    unsigned digit(int place) const {
        int at = place + kBelow * 9;
        if (at < 0 || at >= (kBelow + kAbove) * 9) return 0;
        unsigned l = limb[at / 9];
        for (int i = at % 9; i > 0; i--) l /= 10;
        return l % 10;
    }
    int highest() const {
        int place = (kAbove * 9) - 1;
        while (place > -154 && digit(place) == 0) place--;
        return place;
    }
    // Rounds half to even, so that digits end at `place`.
    void round_at(int place) {
        unsigned next = digit(place - 1);
        bool rest = false;
        for (int p = place - 2; p >= -153 && !rest; p--) rest = digit(p) != 0;
        if (next > 5 || (next == 5 && (rest || digit(place) % 2 == 1))) {
            int at = place + kBelow * 9;
            if (at < 0) return;
            unsigned unit = 1;
            for (int i = at % 9; i > 0; i--) unit *= 10;
            for (int i = at / 9; i < kBelow + kAbove && unit; i++) {
                limb[i] += unit;
                unit = limb[i] >= 1000000000u;
                if (unit) limb[i] -= 1000000000u;
            }
        }
    }
};

inline void put_float(log_line& line, const log_format& f, float x, char how) {
    bool negative = __builtin_bit_cast(unsigned, x) >> 31;
    const char* sign = negative ? "-" : f.plus ? "+" : f.space ? " " : "";
    bool upper = how < 'a';
    if (!(__builtin_fabsf(x) < __builtin_inff())) {
        const char* name = x != x ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
        put_padded(line, f, x != x ? "" : sign, name, 3, false);
        return;
    }
    char style = static_cast<char>(how | 32);
    int precision = f.precision < 0 ? 6 : f.precision < 60 ? f.precision : 60;
    decimal value(x);
    bool zero = x == 0.0f;
    int exponent = 0;
    bool strip = false;
    if (style == 'g') {
        precision = precision == 0 ? 1 : precision;
        decimal rounded = value;
        if (!zero) {
            rounded.round_at(value.highest() - precision + 1);
            exponent = rounded.highest();
        }
        strip = !f.alternate;
        style = exponent < -4 || exponent >= precision ? 'e' : 'f';
        precision = style == 'e' ? precision - 1 : precision - 1 - exponent;
    }
    char body[128];
    int length = 0;
    int first = 0;
    if (style == 'e') {
        if (!zero) {
            value.round_at(value.highest() - precision);
            first = exponent = value.highest();
        }
    } else {
        value.round_at(-precision);
        first = value.highest() > 0 ? value.highest() : 0;
    }
    int last = style == 'e' ? first - precision : -precision;
    if (strip) {
        int point = style == 'e' ? first : 0;
        while (last < point && value.digit(last) == 0) last++;
    }
    int point_after = style == 'e' ? first : 0;
    for (int place = first; place >= last; place--) {
        body[length++] = static_cast<char>('0' + value.digit(place));
        if (place == point_after && (last < place || f.alternate)) body[length++] = '.';
    }
    if (style == 'e') {
        body[length++] = upper ? 'E' : 'e';
        body[length++] = exponent < 0 ? '-' : '+';
        unsigned e = static_cast<unsigned>(exponent < 0 ? -exponent : exponent);
        body[length++] = static_cast<char>('0' + e / 10);
        body[length++] = static_cast<char>('0' + e % 10);
    }
    put_padded(line, f, sign, body, length, true);
}

}  // namespace metal::sm
