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
