// What happens when no thread can go on although some have not returned: lanes of a SIMD group
// stand at different SIMD functions, or threads at different barriers. That is an error, or, when
// the launch asks for it, those at the lowest source position go first, alone, as on hardware.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "softmetal/exec/worker.h"

namespace softmetal::exec {

// Sites in the order of the source: files as the module lists them, then lines and columns.
uint64_t Worker::rank(sm_site site) const {
    const auto& table = plan_->launch.module->table();
    uint64_t file = 0;
    while (file < table.n_files && table.files[file].hash != sm_site_file(site)) ++file;
    return file << 32 | (site & 0xffffffff);
}

bool Worker::resolve_simdgroup() {
    if (!serves_in_turns_) {
        report_divergence();
        return false;
    }
    // The lanes at the lowest position that make the same call there.
    const auto call_of = [this](uint32_t thread) {
        const auto& pending = pending_[thread];
        return std::tuple(rank(site_of_[thread]), pending.scope,
                          reinterpret_cast<uintptr_t>(pending.task), pending.amount);
    };
    SimdGroup& group = *simd_;
    uint32_t lowest = 0;
    for (uint32_t set = group.served_waiting; set != 0; set &= set - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(set));
        const uint32_t thread = group.first_thread + lane;
        const uint32_t best = group.first_thread + static_cast<uint32_t>(std::countr_zero(lowest));
        if (lowest == 0 || call_of(thread) < call_of(best)) {
            lowest = uint32_t{1} << lane;
        } else if (call_of(thread) == call_of(best)) {
            lowest |= uint32_t{1} << lane;
        }
    }
    const auto first = static_cast<uint32_t>(std::countr_zero(lowest));
    if (pending_[group.first_thread + first].scope == Scope::Simdgroup) {
        serve(group, lowest);
    } else {
        for (uint32_t quad = 0; quad < 32; quad += 4) {
            if (const uint32_t lanes = lowest & uint32_t{0xf} << quad) serve(group, lanes);
        }
    }
    return true;
}

// Gives the lanes each other's values; they may go on.
void Worker::serve(SimdGroup& group, uint32_t lanes) {
    const uint32_t first = group.first_thread + static_cast<uint32_t>(std::countr_zero(lanes));
    if (pending_[first].multiply != nullptr) {
        serve_products(group, lanes);
    } else {
        serve_exchange(group, lanes);
    }
    group.served_waiting &= ~lanes;
    group.ready |= lanes;
}

void Worker::serve_exchange(const SimdGroup& group, uint32_t lanes) {
    const uint32_t first = group.first_thread + static_cast<uint32_t>(std::countr_zero(lanes));
    const uint32_t bytes = pending_[first].amount;
    sm_lanes& meet = served_view_->lanes[first];
    std::memset(meet.value, 0, SM_SIMD_WIDTH * bytes);
    meet.active = lanes;
    meet.bytes = bytes;
    for (uint32_t set = lanes; set != 0; set &= set - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(set));
        std::memcpy(meet.value + lane * bytes, pending_[group.first_thread + lane].value.data(),
                    bytes);
    }
    if (pending_[first].combine != nullptr) pending_[first].combine(&meet);
    // Each lane reads its own copy: it may do so while others are already further on.
    for (uint32_t set = lanes & (lanes - 1); set != 0; set &= set - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(set));
        sm_lanes& own = served_view_->lanes[group.first_thread + lane];
        std::memcpy(own.value, meet.value, SM_SIMD_WIDTH * bytes);
        std::memcpy(own.result, meet.result, SM_SIMD_WIDTH * bytes);
        own.active = lanes;
        own.bytes = bytes;
    }
}

void Worker::serve_products(const SimdGroup& group, uint32_t lanes) {
    const uint32_t first = group.first_thread + static_cast<uint32_t>(std::countr_zero(lanes));
    const auto& call = pending_[first];
    auto* const all = &served_view_->matrices[group.first_thread];
    MatrixLanes& meet = served_view_->matrices[first];
    for (uint32_t i = 0; i < call.n_operands; ++i) {
        for (uint32_t lane = 0; lane < SM_SIMD_WIDTH; ++lane) {
            const uint32_t place = MatrixLanes::place(lane);
            meet.operands[i][place] = (lanes >> lane & 1) != 0 ? all[lane].operands[i][place] : 0;
        }
    }
    meet.multiply(static_cast<const sm_product*>(call.task), call.amount, call.multiply);
    for (uint32_t set = lanes & (lanes - 1); set != 0; set &= set - 1) {
        auto& own = all[std::countr_zero(set)];
        std::copy_n(meet.results.begin(), call.amount, own.results.begin());
    }
}

const sm_lanes* Worker::exchange_served(sm_site site, const void* value, uint32_t bytes,
                                        sm_combine combine, Scope scope) {
    const uint32_t thread = thread_;
    auto& pending = pending_[thread];
    pending = Pending{.scope = scope,
                      .task = reinterpret_cast<const void*>(combine),
                      .amount = bytes,
                      .combine = combine};
    if (bytes != 0) std::memcpy(pending.value.data(), value, bytes);
    wait_to_be_served(site);
    return &served_view_->lanes[thread];
}

const double* Worker::products_served(sm_site site, const sm_product* products, uint32_t n_products,
                                      uint32_t n_operands, sm_multiply multiply) {
    const uint32_t thread = thread_;
    pending_[thread] = Pending{
        .task = products, .amount = n_products, .multiply = multiply, .n_operands = n_operands};
    wait_to_be_served(site);
    return &served_view_->matrices[thread].results[0][MatrixLanes::place(thread % SM_SIMD_WIDTH)];
}

void Worker::wait_to_be_served(sm_site site) {
    site_of_[thread_] = site;
    simd_->served_waiting |= uint32_t{1} << lane();
    block();
}

// All threads that have not returned wait at barriers, at more than one place.
bool Worker::resolve_barrier() {
    if (!serves_in_turns_) {
        report_divergence();
        return false;
    }
    if (alive_ != thread_count_ && plan_->launch.checks != Checks::Off) {
        report_returned_thread();
        return false;
    }
    const uint32_t groups = view_->group.simdgroups_per_threadgroup;
    uint64_t lowest = ~uint64_t{0};
    const auto for_waiting = [&](auto visit) {
        for (uint32_t i = 0; i < groups; ++i) {
            for (uint32_t set = simds_[i].at_barrier; set != 0; set &= set - 1) {
                visit(i, static_cast<uint32_t>(std::countr_zero(set)));
            }
        }
    };
    for_waiting([&](uint32_t group, uint32_t lane) {
        lowest = std::min(lowest, rank(site_of_[simds_[group].first_thread + lane]));
    });
    for_waiting([&](uint32_t group, uint32_t lane) {
        if (rank(site_of_[simds_[group].first_thread + lane]) != lowest) return;
        simds_[group].at_barrier &= ~(uint32_t{1} << lane);
        simds_[group].ready |= uint32_t{1} << lane;
        runnable_ |= uint32_t{1} << group;
        --barrier_waiting_;
    });
    ++barriers_;
    // Those left behind may stand at different places, so the next barrier is resolved here too.
    if (barrier_waiting_ == 0) barrier_is_mixed_ = false;
    return true;
}

}  // namespace softmetal::exec
