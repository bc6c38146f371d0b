#include "softmetal/objc/foundation/encoded_size.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "softmetal/objc/object.h"

namespace softmetal::objc {
namespace {

struct Extent {
    size_t bytes = 0, alignment = 1;
};

class Reader {
  public:
    explicit Reader(std::string_view text) : whole_(text), left_(text) {}

    Extent type() {
        while (!left_.empty() && std::string_view("rnNoORVA").contains(left_[0]))
            take();  // const...
        if (left_.empty()) fail();
        switch (const char c = take()) {
            case 'c':
            case 'C':
            case 'B':
                return {1, 1};
            case 's':
            case 'S':
                return {2, 2};
            case 'i':
            case 'I':
            case 'l':
            case 'L':
            case 'f':
                return {4, 4};
            case 'q':
            case 'Q':
            case 'd':
            case '*':
            case '@':
            case '#':
            case ':':
                return {8, 8};
            case '^':
                pointee();
                return {8, 8};
            case '[':
                return array();
            case '{':
                return members('}', false);
            case '(':
                return members(')', true);
            default:
                static_cast<void>(c);
                fail();
        }
    }
    bool at_end() const { return left_.empty(); }
    [[noreturn]] void fail() const {
        stop("type encoding '%.*s' is not implemented", static_cast<int>(whole_.size()),
             whole_.data());
    }

  private:
    char take() {
        const char c = left_.front();
        left_.remove_prefix(1);
        return c;
    }
    bool next_is(char c) const { return !left_.empty() && left_.front() == c; }

    void pointee() {
        if (next_is('v') || next_is('?'))
            take();
        else
            type();
    }
    Extent array() {
        size_t n = 0;
        const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), n);
        if (error != std::errc()) fail();
        left_.remove_prefix(static_cast<size_t>(end - left_.data()));
        const Extent element = type();
        if (!next_is(']')) fail();
        take();
        return {n * element.bytes, element.alignment};
    }
    Extent members(char close, bool overlapping) {
        const size_t equals = left_.find_first_of("={}()");
        if (equals == std::string_view::npos) fail();
        const bool opaque = left_[equals] != '=';  // {Name}: nothing is known of its members
        left_.remove_prefix(equals + (opaque ? 0 : 1));
        Extent all;
        while (!left_.empty() && left_.front() != close) {
            const Extent member = type();
            all.alignment = std::max(all.alignment, member.alignment);
            if (overlapping) {
                all.bytes = std::max(all.bytes, member.bytes);
                continue;
            }
            all.bytes = aligned(all.bytes, member.alignment) + member.bytes;
        }
        if (left_.empty()) fail();
        take();
        all.bytes = aligned(all.bytes, all.alignment);
        return all;
    }
    static size_t aligned(size_t offset, size_t alignment) {
        return (offset + alignment - 1) / alignment * alignment;
    }

    std::string_view whole_, left_;
};

}  // namespace

size_t encoded_size(const char* encoding) {
    Reader reader(encoding);
    const Extent extent = reader.type();
    if (!reader.at_end()) reader.fail();
    return extent.bytes;
}

}  // namespace softmetal::objc
