#include "softmetal/objc/foundation/register.h"

namespace softmetal::objc {

void register_foundation_classes() {
    register_root();
    register_pool();
    register_string();
    register_collections();
    register_error();
    register_url();
    register_number();
    register_data();
    register_condition();
    register_process_info();
    register_bundle();
    register_dispatch_data();
    register_dispatch_queue();
}

}  // namespace softmetal::objc
