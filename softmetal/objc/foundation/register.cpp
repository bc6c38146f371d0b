#include "softmetal/objc/foundation/register.h"

namespace softmetal::objc {

void register_foundation_classes() {
    register_root();
    register_pool();
    register_string();
}

}  // namespace softmetal::objc
