// What went wrong in a kernel, in words: FILE:LINE:COLUMN: kernel 'name': what; who.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "softmetal/exec/worker.h"

namespace softmetal::exec {
namespace {

std::string describe(sm_u32x3 position) {
    return fmt::format("({}, {}, {})", position.x, position.y, position.z);
}

const char* mark_of(uint32_t os_log_type) {
    switch (os_log_type) {
        case 1:
            return "info: ";
        case 2:
            return "debug: ";
        case 16:
            return "error: ";
        case 17:
            return "fault: ";
    }
    return "";
}

}  // namespace

std::string described(const LogMessage& message) {
    const bool is_default = message.subsystem.empty() && message.category.empty();
    const auto from =
        is_default ? "" : fmt::format("[{}:{}] ", message.subsystem, message.category);
    return fmt::format("{}{}{}", from, mark_of(message.type), message.text);
}

std::string Worker::describe_site(sm_site site) const {
    if (sm_site_line(site) == 0) return "";
    const std::string file = plan_->launch.module->file_name(sm_site_file(site));
    return fmt::format("{}:{}:{}", file.empty() ? "<unknown file>" : file, sm_site_line(site),
                       sm_site_column(site));
}

// "thread (3, 0, 0)" or "threads 0-15 and 32"; positions and indices are in the threadgroup.
std::string Worker::describe_threads(const std::vector<uint32_t>& threads) const {
    if (threads.size() == 1) {
        return fmt::format("thread {}",
                           describe(view_->threads[threads[0]].position_in_threadgroup));
    }
    std::string text;
    for (size_t i = 0; i < threads.size();) {
        size_t last = i;
        while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) ++last;
        text += text.empty() ? "threads " : ", ";
        text += last == i ? std::to_string(threads[i])
                          : fmt::format("{}-{}", threads[i], threads[last]);
        i = last + 1;
    }
    return text;
}

void Worker::set_error_of_group(const std::string& what, sm_site site) {
    const std::string place = describe_site(site);
    error_ = fmt::format("{}{}kernel '{}': {}; threadgroup {}", place, place.empty() ? "" : ": ",
                         plan_->launch.kernel->name, what,
                         describe(view_->group.threadgroup_position_in_grid));
}

void Worker::set_error(const std::string& what, sm_site site) {
    set_error_of_group(fmt::format("{}; {}", what, describe_threads({thread_})), site);
}

// Some threads wait at one place, some at another, and neither can go on.
void Worker::report_divergence() {
    std::map<uint64_t, std::vector<uint32_t>> by_rank;  // threads by where they wait
    bool in_simdgroup = false;
    const auto collect = [&](const SimdGroup& group) {
        const uint32_t in_simd = group.simd.waiting | group.quad_waiting;
        in_simdgroup |= in_simd != 0;
        for (uint32_t set = in_simd | group.at_barrier; set != 0; set &= set - 1) {
            const uint32_t thread =
                group.first_thread + static_cast<uint32_t>(std::countr_zero(set));
            by_rank[rank(site_of_[thread])].push_back(thread);
        }
    };
    if ((simd_->simd.waiting | simd_->quad_waiting) != 0) {
        collect(*simd_);
    } else {
        const uint32_t groups = view_->group.simdgroups_per_threadgroup;
        for (uint32_t i = 0; i < groups; ++i) collect(simds_[i]);
    }
    std::string what = in_simdgroup ? fmt::format("lanes of SIMD group {} wait at different places",
                                                  simd_->first_thread / SM_SIMD_WIDTH)
                                    : std::string("threads wait at different threadgroup barriers");
    const char* separator = ": ";
    for (const auto& [rank, threads] : by_rank) {
        what += fmt::format("{}{} at {}", separator, describe_threads(threads),
                            describe_site(site_of_[threads[0]]));
        separator = "; ";
    }
    if (by_rank.size() == 1) what += ", in different calls on that line";
    set_error_of_group(what, site_of_[by_rank.begin()->second[0]]);
}

void Worker::report_returned_thread() {
    std::vector<uint32_t> returned;
    const uint32_t groups = view_->group.simdgroups_per_threadgroup;
    for (uint32_t thread = 0; thread < thread_count_; ++thread) {
        const auto& group = simds_[thread / SM_SIMD_WIDTH];
        if ((group.alive >> thread % SM_SIMD_WIDTH & 1) == 0) returned.push_back(thread);
    }
    for (uint32_t i = 0; i < groups; ++i) {
        if (simds_[i].at_barrier == 0) continue;
        const uint32_t waiting =
            simds_[i].first_thread + static_cast<uint32_t>(std::countr_zero(simds_[i].at_barrier));
        return set_error_of_group(
            fmt::format("a threadgroup barrier that {} of {} threads will never reach: {} returned",
                        returned.size(), thread_count_, describe_threads(returned)),
            site_of_[waiting]);
    }
}

void Worker::report_access(const Access& access) {
    set_error(checker_.complaint(access, describe_access(access.bytes, access.kind)), access.site);
}

void Worker::report_overrun(int64_t offset, uint64_t bytes, uint64_t object_bytes,
                            const char* object, uint32_t kind, sm_site site) {
    const std::string name =
        object == nullptr ? "a variable of its own" : fmt::format("table '{}'", object);
    set_error(fmt::format("{} at offset {} of {}, which has {}", describe_access(bytes, kind),
                          offset, name, object_bytes),
              site);
}

// `variable_bytes`: of the variable that found no room, 0 when calls were too deep.
void Worker::report_stack(uint64_t variable_bytes) {
    const std::string why =
        variable_bytes == 0 ? ""
                            : fmt::format(": a variable of its own has {} bytes", variable_bytes);
    set_error(fmt::format("needs more than {} KiB of stack{}", FiberPool::kStackBytes >> 10, why),
              0);
}

}  // namespace softmetal::exec
