// Makes Metal's classes known to the runtime.
#include "softmetal/api/blit_encoder.h"
#include "softmetal/api/buffer.h"
#include "softmetal/api/capture.h"
#include "softmetal/api/command_buffer.h"
#include "softmetal/api/command_queue.h"
#include "softmetal/api/compile_options.h"
#include "softmetal/api/compute_encoder.h"
#include "softmetal/api/compute_pipeline.h"
#include "softmetal/api/counters.h"
#include "softmetal/api/device.h"
#include "softmetal/api/encoder.h"
#include "softmetal/api/event.h"
#include "softmetal/api/fence.h"
#include "softmetal/api/function.h"
#include "softmetal/api/function_constants.h"
#include "softmetal/api/heap.h"
#include "softmetal/api/library.h"
#include "softmetal/api/log_state.h"
#include "softmetal/api/reflection.h"
#include "softmetal/api/residency_set.h"
#include "softmetal/objc/define_class.h"

extern "C" void softmetal_register_metal_classes() {
    using namespace softmetal::api;
    register_device();
    register_buffer();
    register_command_queue();
    register_command_buffer();
    register_encoder();
    register_compute_encoder();
    register_blit_encoder();
    register_compile_options();
    register_function_constants();
    register_function();
    register_library();
    register_reflection();
    register_compute_pipeline();
    register_event();
    register_fence();
    register_heap();
    register_residency_set();
    register_log_state();
    register_counters();
    register_capture();
}
