// Names that a compiled kernel module uses and nobody provides. A shared object links without them;
// better to say so now than when it is loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softmetal::msl {

// As C++ spells them. `object` is what the linker wrote; bytes that are no ELF file yield nothing.
std::vector<std::string> undefined_names(std::string_view object);

}  // namespace softmetal::msl
