#include "support/software_metal.h"

namespace minfer::test {

SoftwareMetal::SoftwareMetal(bool, int) : device_(nullptr) {}
SoftwareMetal::~SoftwareMetal() = default;
void SoftwareMetal::set_order_seed(uint64_t) {}

}  // namespace minfer::test
