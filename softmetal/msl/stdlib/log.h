// <metal_logging>: os_log. The text is put together here and handed to the executor as one line.
#pragma once

namespace metal {
namespace sm {

struct log_argument {
    enum : unsigned char { kSigned, kUnsigned, kFloat, kText, kPointer } kind;
    union {
        long i;
        ulong u;
        float f;
        const char* text;
    };
};

template <class T>
SM_FN log_argument make_log_argument(T x) {
    log_argument a{};
    if constexpr (__is_pointer(T)) {
        if constexpr (__is_same(__remove_cv(__remove_pointer(T)), char)) {
            a.kind = log_argument::kText;
            a.text = x;
        } else {
            a.kind = log_argument::kPointer;
            a.u = reinterpret_cast<ulong>(x);
        }
    } else if constexpr (is_float_scalar<T> || __is_same(T, double)) {
        a.kind = log_argument::kFloat;
        a.f = static_cast<float>(x);
    } else if constexpr (__is_signed(T)) {
        a.kind = log_argument::kSigned;
        a.i = static_cast<long>(x);
    } else {
        a.kind = log_argument::kUnsigned;
        a.u = static_cast<ulong>(x);
    }
    return a;
}

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

// Sign and digits of one number, most significant last.
struct log_digits {
    char digit[64];
    int count = 0;
    const char* prefix = "";
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

inline void put_argument(log_line& line, log_format f, char how, const log_argument& a) {
    switch (how) {
        case 'd':
        case 'i': {
            bool negative = a.kind == log_argument::kSigned && a.i < 0;
            put_integer(line, f, negative ? 0 - static_cast<ulong>(a.i) : a.u, negative, 10, false);
            break;
        }
        case 'u':
            put_integer(line, f, a.u, false, 10, false);
            break;
        case 'x':
        case 'X':
            put_integer(line, f, a.u, false, 16, how == 'X');
            break;
        case 'o':
            put_integer(line, f, a.u, false, 8, false);
            break;
        case 'p':
            f.alternate = true;
            put_integer(line, f, a.u, false, 16, false);
            break;
        case 'c': {
            char c = static_cast<char>(a.i);
            put_padded(line, f, "", &c, 1, false);
            break;
        }
        case 's': {
            const char* text = a.kind == log_argument::kText && a.text ? a.text : "(not a string)";
            int length = 0;
            while (text[length] && (f.precision < 0 || length < f.precision)) length++;
            put_padded(line, f, "", text, length, false);
            break;
        }
        default: {
            float x = a.kind == log_argument::kFloat    ? a.f
                      : a.kind == log_argument::kSigned ? static_cast<float>(a.i)
                                                        : static_cast<float>(a.u);
            put_float(line, f, x, how);
        }
    }
}

// Digits of a width or precision, or the next argument for `*`.
inline int read_number(const char*& at, const log_argument*& next, const log_argument* end) {
    if (*at == '*') {
        at++;
        return next < end ? static_cast<int>((next++)->i) : 0;
    }
    int n = 0;
    while (*at >= '0' && *at <= '9') n = n * 10 + (*at++ - '0');
    return n;
}

__attribute__((noinline)) inline void log_text(const char* subsystem, const char* category,
                                               unsigned type, const char* format,
                                               const log_argument* next, int count) {
    const log_argument* end = next + count;
    log_line line;
    for (const char* at = format; *at;) {
        if (*at != '%') {
            line.put(*at++);
            continue;
        }
        const char* start = at++;
        if (*at == '%') {
            line.put(*at++);
            continue;
        }
        if (*at == '{') {  // %{public}s and the like
            while (*at && *at != '}') at++;
            if (*at) at++;
        }
        log_format f;
        for (bool more = true; more;) {
            switch (*at) {
                case '-':
                    f.left = true;
                    break;
                case '0':
                    f.zero = true;
                    break;
                case '+':
                    f.plus = true;
                    break;
                case ' ':
                    f.space = true;
                    break;
                case '#':
                    f.alternate = true;
                    break;
                default:
                    more = false;
                    continue;
            }
            at++;
        }
        f.width = read_number(at, next, end);
        if (f.width < 0) {
            f.left = true;
            f.width = -f.width;
        }
        if (*at == '.') f.precision = read_number(++at, next, end);
        int lanes = 1;
        if (*at == 'v') {  // %v4f: as many arguments, separated by commas
            at++;
            lanes = read_number(at, next, end);
        }
        while (*at == 'h' || *at == 'l' || *at == 'j' || *at == 'z' || *at == 't' || *at == 'q')
            at++;
        char how = *at;
        bool known = false;
        for (const char* k = "diuxXopcsfFeEgG"; *k; k++) known |= *k == how;
        if (!known || next >= end) {
            // Shown as written, so that nothing goes missing.
            for (; start < at; start++) line.put(*start);
            if (*at) line.put(*at++);
            continue;
        }
        at++;
        for (int i = 0; i < lanes && next < end; i++) {
            if (i > 0) line.put(',');
            put_argument(line, f, how, *next++);
        }
    }
    line.text[line.used] = 0;
    sm_log(type, subsystem, category, line.text);
}

template <class T>
SM_FN void append_log_argument(log_argument*& out, T x) {
    if constexpr (shape_lanes<T> > 0) {
        for (int i = 0; i < shape_lanes<T>; i++) {
            *out++ = make_log_argument(static_cast<element_of_t<T>>(value_of<T>(x)[i]));
        }
    } else {
        *out++ = make_log_argument(x);
    }
}

}  // namespace sm

enum os_log_type : unsigned char {
    OS_LOG_TYPE_DEFAULT = 0x00,
    OS_LOG_TYPE_INFO = 0x01,
    OS_LOG_TYPE_DEBUG = 0x02,
    OS_LOG_TYPE_ERROR = 0x10,
    OS_LOG_TYPE_FAULT = 0x11,
};

class os_log {
  public:
    SM_FN constexpr os_log(const char* subsystem, const char* category)
        : subsystem_(subsystem), category_(category) {}

    template <class... A>
    SM_FN void log_with_type(os_log_type type, const char* format, A... a) const {
        write(type, format, a...);
    }
    template <class... A>
    SM_FN void log(const char* format, A... a) const {
        write(OS_LOG_TYPE_DEFAULT, format, a...);
    }
    template <class... A>
    SM_FN void log_info(const char* format, A... a) const {
        write(OS_LOG_TYPE_INFO, format, a...);
    }
    template <class... A>
    SM_FN void log_debug(const char* format, A... a) const {
        write(OS_LOG_TYPE_DEBUG, format, a...);
    }
    template <class... A>
    SM_FN void log_error(const char* format, A... a) const {
        write(OS_LOG_TYPE_ERROR, format, a...);
    }
    template <class... A>
    SM_FN void log_fault(const char* format, A... a) const {
        write(OS_LOG_TYPE_FAULT, format, a...);
    }

  private:
    template <class... A>
    SM_FN void write(os_log_type type, const char* format, A... a) const {
        constexpr int kCount = (0 + ... + (sm::shape_lanes<A> > 0 ? sm::shape_lanes<A> : 1));
        sm::log_argument all[kCount + 1], *next = all;
        (sm::append_log_argument(next, a), ...);
        sm::log_text(subsystem_, category_, type, format, all, kCount);
    }

    const char* subsystem_;
    const char* category_;
};

inline constexpr os_log os_log_default("", "");

}  // namespace metal
