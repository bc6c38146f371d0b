#include "softmetal/base/thread.h"

#include <atomic>
#include <system_error>
#include <utility>

namespace softmetal {
namespace {

std::atomic<bool> refuses = false;

std::string refusal(const std::error_code& why) {
    return "a thread could not be started: " + why.message();
}

}  // namespace

void refuse_new_threads(bool on) { refuses = on; }

Result<std::thread> start_thread(std::function<void()> work) {
    if (refuses)
        return fail(refusal(std::make_error_code(std::errc::resource_unavailable_try_again)));
    try {
        return std::thread(std::move(work));
    } catch (const std::system_error& error) {
        return fail(refusal(error.code()));
    }
}

}  // namespace softmetal
