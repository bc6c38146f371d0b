// The bytes of an .smlib file. All numbers are little-endian:
//
//   8 bytes  "SMLIB\r\n\x1a", so that text-mode transfers show
//   u32      format version
//   u32      number of units
//   u64      checksum of everything after the header
//   then per unit: u64 bytes of the plain object, u64 bytes of the checked one, both objects
#include <cstdint>
#include <cstring>

#include "softmetal/exec/abi.h"
#include "softmetal/msl/compiler.h"
#include "softmetal/msl/hash.h"

namespace softmetal::msl {
namespace {

constexpr std::string_view kMagic = "SMLIB\r\n\x1a";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 24;
// The least a unit takes: its two lengths.
constexpr size_t kUnitBytes = 16;

void put(std::string& out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

// Takes numbers and stretches off the front; knows how much is left.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : left_(bytes) {}

    Result<uint64_t> number(size_t bytes) {
        const auto text = SOFTMETAL_TRY(take(bytes));
        uint64_t value = 0;
        for (size_t i = 0; i < bytes; ++i)
            value |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
        return value;
    }

    Result<std::string_view> take(uint64_t bytes) {
        if (bytes > left_.size())
            return fail("smlib: " + std::to_string(bytes) + " bytes expected, " +
                        std::to_string(left_.size()) + " are left");
        const auto out = left_.substr(0, bytes);
        left_.remove_prefix(bytes);
        return out;
    }

    std::string_view left() const { return left_; }

  private:
    std::string_view left_;
};

}  // namespace

std::string serialize(const CompiledLibrary& library) {
    std::string body;
    for (const auto& unit : library.units) {
        put(body, unit.plain.size(), 8);
        put(body, unit.checked.size(), 8);
        body += unit.plain;
        body += unit.checked;
    }
    std::string out(kMagic);
    put(out, kVersion, 4);
    put(out, library.units.size(), 4);
    // The count is part of what the checksum covers.
    put(out, hash(body, library.units.size()), 8);
    return out + body;
}

Result<CompiledLibrary> deserialize(std::string_view bytes) {
    Reader in(bytes);
    if (bytes.size() < kHeaderBytes || SOFTMETAL_TRY(in.take(kMagic.size())) != kMagic)
        return fail("not an smlib file");
    const auto version = SOFTMETAL_TRY(in.number(4));
    if (version != kVersion)
        return fail("smlib: version " + std::to_string(version) + ", this program reads version " +
                    std::to_string(kVersion));
    const auto n_units = SOFTMETAL_TRY(in.number(4));
    const auto checksum = SOFTMETAL_TRY(in.number(8));
    if (n_units > in.left().size() / kUnitBytes)
        return fail("smlib: " + std::to_string(n_units) + " units in " +
                    std::to_string(in.left().size()) + " bytes");
    if (hash(in.left(), n_units) != checksum)
        return fail("smlib: the checksum does not match, the file is damaged");
    CompiledLibrary out;
    for (uint64_t i = 0; i < n_units; ++i) {
        const auto plain = SOFTMETAL_TRY(in.number(8));
        const auto checked = SOFTMETAL_TRY(in.number(8));
        CompiledUnit unit;
        unit.plain = SOFTMETAL_TRY(in.take(plain));
        unit.checked = SOFTMETAL_TRY(in.take(checked));
        out.units.push_back(std::move(unit));
    }
    if (!in.left().empty())
        return fail("smlib: " + std::to_string(in.left().size()) + " bytes after the last unit");
    return out;
}

}  // namespace softmetal::msl
