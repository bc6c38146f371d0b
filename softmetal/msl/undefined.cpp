#include "softmetal/msl/undefined.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace softmetal::msl {
namespace {

template <class T>
std::optional<T> at(std::string_view bytes, uint64_t offset) {
    if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
    T out;
    std::memcpy(&out, bytes.data() + offset, sizeof out);
    return out;
}

std::string_view text_at(std::string_view table, uint64_t offset) {
    if (offset >= table.size()) return {};
    const auto rest = table.substr(offset);
    return rest.substr(0, rest.find('\0'));
}

// What the executor and the C library of the program provide.
bool is_provided(std::string_view name) {
    constexpr std::array<std::string_view, 4> kLibrary = {"memcpy", "memmove", "memset", "memcmp"};
    return name.empty() || name.starts_with("sm_") ||
           std::find(kLibrary.begin(), kLibrary.end(), name) != kLibrary.end();
}

std::string demangled(std::string_view name) {
    int status = 0;
    char* text = abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status);
    std::string out = status == 0 && text != nullptr ? text : std::string(name);
    std::free(text);
    return out;
}

}  // namespace

std::vector<std::string> undefined_names(std::string_view object) {
    std::vector<std::string> out;
    const auto header = at<Elf64_Ehdr>(object, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return out;
    const auto section = [&](uint64_t i) {
        return at<Elf64_Shdr>(object, header->e_shoff + i * sizeof(Elf64_Shdr));
    };
    for (uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto symbols = section(i);
        if (!symbols || symbols->sh_type != SHT_DYNSYM) continue;
        const auto names = section(symbols->sh_link);
        if (!names || names->sh_offset > object.size()) continue;
        const auto table = object.substr(names->sh_offset, names->sh_size);
        for (uint64_t k = 0; k < symbols->sh_size / sizeof(Elf64_Sym); ++k) {
            const auto symbol = at<Elf64_Sym>(object, symbols->sh_offset + k * sizeof(Elf64_Sym));
            if (!symbol || symbol->st_shndx != SHN_UNDEF) continue;
            const auto name = text_at(table, symbol->st_name);
            const bool is_weak = ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
            if (!is_weak && !is_provided(name)) out.push_back(demangled(name));
        }
    }
    return out;
}

}  // namespace softmetal::msl
