#include "softmetal/control.h"

#include "softmetal/api/device.h"
#include "softmetal/api/errors.h"
#include "softmetal/base/thread.h"

namespace softmetal {
namespace {

api::Device& of(MTL::Device* device) { return *reinterpret_cast<api::Device*>(device); }

}  // namespace

void set_checks(MTL::Device* device, Checks checks) { of(device).checks = checks; }
Checks checks(MTL::Device* device) { return of(device).checks; }
void set_order_seed(MTL::Device* device, uint64_t seed) { of(device).order_seed = seed; }
void set_serve_lowest_site_first(MTL::Device* device, bool on) {
    of(device).serve_lowest_site_first = on;
}

void set_memory_counters(MTL::Device* device, bool on) { of(device).count_memory = on; }
std::vector<KernelCounters> counters(MTL::Device* device) { return of(device).counters(); }
void reset_counters(MTL::Device* device) { of(device).reset_counters(); }

void fail_next_command_buffer(MTL::Device* device, int64_t command_buffer_error_code) {
    of(device).ask({.fails_with = command_buffer_error_code, .hangs_for = std::nullopt});
}
void hang_next_command_buffer(MTL::Device* device, double seconds) {
    of(device).ask({.fails_with = std::nullopt, .hangs_for = seconds});
}
void refuse_allocation(MTL::Device* device, uint64_t nth) { of(device).refuse_allocation(nth); }
void refuse_threads(bool on) { refuse_new_threads(on); }
std::string why_nil() { return api::reason_of_nil(); }
void fail_next_pipeline(MTL::Device* device, std::string reason) {
    of(device).fail_next_pipeline(std::move(reason));
}

}  // namespace softmetal
