#include "softmetal/exec/worker.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "softmetal/exec/float_modes.h"

namespace softmetal::exec {
namespace {

void* map(uint64_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// memcpy, with a constant size for the sizes that occur.
void copy_value(sm_u8* to, const void* from, uint32_t bytes) {
    switch (bytes) {
        case 0:
            return;
        case 1:
            std::memcpy(to, from, 1);
            return;
        case 2:
            std::memcpy(to, from, 2);
            return;
        case 4:
            std::memcpy(to, from, 4);
            return;
        case 8:
            std::memcpy(to, from, 8);
            return;
        case 16:
            std::memcpy(to, from, 16);
            return;
        default:
            std::memcpy(to, from, bytes);
            return;
    }
}

template <class View>
Region region_of(const View& view) {
    return {.begin = reinterpret_cast<uintptr_t>(&view),
            .bytes = sizeof view,
            .kind = Region::Kind::Executor,
            .name = "what the executor hands to kernels"};
}

// Of the argument that a threadgroup memory binding serves.
const char* argument_name(const Launch& launch, size_t index) {
    for (uint32_t i = 0; i < launch.kernel->n_arguments; ++i) {
        const auto& argument = launch.kernel->arguments[i];
        if (argument.kind == SM_ARGUMENT_THREADGROUP && argument.index == index) {
            return argument.name;
        }
    }
    return "";
}

uint32_t lowest_bits(uint32_t count) {
    return count >= 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
}

uint32_t quad_mask(uint32_t lane) { return uint32_t{0xf} << (lane & ~uint32_t{3}); }

}  // namespace

constinit thread_local Worker* Worker::running_ = nullptr;

Worker& Worker::of_this_thread() {
    static thread_local const std::unique_ptr<Worker> worker(new Worker);
    return *worker;
}

Worker::Worker() : main_(fiber_of_this_thread()), pool_(&Worker::fiber_function, this) {
    add_fault_claim(&Worker::claim_fault);
}

Worker::~Worker() {
    if (view_ != nullptr) munmap(view_, sizeof(KernelView));
    if (served_view_ != nullptr) munmap(served_view_, sizeof(ServedView));
}

bool Worker::begin(const GridPlan& plan) {
    plan_ = &plan;
    entry_ = plan.launch.kernel->entry;
    error_.clear();
    barriers_ = 0;
    serves_in_turns_ = plan.launch.serve_lowest_site_first;
    if (view_ == nullptr) view_ = static_cast<KernelView*>(map(sizeof(KernelView)));
    if (serves_in_turns_ && served_view_ == nullptr) {
        served_view_ = static_cast<ServedView*>(map(sizeof(ServedView)));
        pending_.resize(GridPlan::kMaxThreads);
    }
    if (!memory_.begin(plan.threadgroup_memory_bytes) || view_ == nullptr ||
        (serves_in_turns_ && served_view_ == nullptr)) {
        error_ = "out of memory for threadgroups";
        return false;
    }

    checks_accesses_ = plan.checks_accesses();
    if (checks_accesses_) {
        checker_.begin(plan.memory, plan.launch);
        checker_.add(region_of(*view_));
        if (serves_in_turns_) checker_.add(region_of(*served_view_));
    }
    counter_.reset();
    if (plan.touched != nullptr) counter_.emplace(*plan.touched);
    std::ranges::copy(plan.launch.buffers, view_->arguments.buffers);
    for (size_t i = 0; i < SM_MAX_THREADGROUP; ++i) {
        const uint64_t bytes = plan.launch.threadgroup_bytes[i];
        char* const array = bytes == 0 ? nullptr : memory_.place(bytes, 1);
        view_->arguments.threadgroup[i] = array;
        if (array != nullptr) watch_threadgroup_array(array, bytes, argument_name(plan.launch, i));
    }
    const auto& launch = plan.launch;
    const auto vector = [](Size3 size) { return sm_u32x3{size.x, size.y, size.z}; };
    const uint32_t full = launch.threads_per_threadgroup.x * launch.threads_per_threadgroup.y *
                          launch.threads_per_threadgroup.z;
    view_->group = {.dispatch_threads_per_threadgroup = vector(launch.threads_per_threadgroup),
                    .threads_per_grid = vector(launch.threads),
                    .threadgroups_per_grid = vector(plan.groups),
                    .dispatch_simdgroups_per_threadgroup = (full + 31) / 32,
                    .dispatch_quadgroups_per_threadgroup = (full + 3) / 4};
    laid_out_ = {};
    running_ = this;
    callers_float_modes_ = float_modes();
    set_float_modes(kDefaultFloatModes);
    return true;
}

void Worker::end() {
    set_float_modes(callers_float_modes_);
    running_ = nullptr;
    plan_ = nullptr;
}

// ---- One threadgroup

bool Worker::run_threadgroup(uint64_t index) {
    prepare_group(index);
    Fiber* first = pool_.take();
    if (first == nullptr) {
        error_ = "out of memory for the stacks of threads";
        return false;
    }
    fiber_ = first;
    is_in_kernel_ = true;
    switch_fiber(main_, *first);
    is_in_kernel_ = false;
    if (counter_) counter_->end_threadgroup();
    if (error_.empty()) return true;
    pool_.renew();
    return false;
}

void Worker::prepare_group(uint64_t index) {
    const auto& launch = plan_->launch;
    const Size3 full = launch.threads_per_threadgroup, groups = plan_->groups;
    const auto position = sm_u32x3{static_cast<uint32_t>(index % groups.x),
                                   static_cast<uint32_t>(index / groups.x % groups.y),
                                   static_cast<uint32_t>(index / groups.x / groups.y)};
    origin_ = {position.x * full.x, position.y * full.y, position.z * full.z};
    const auto size = sm_u32x3{std::min(full.x, launch.threads.x - origin_.x),
                               std::min(full.y, launch.threads.y - origin_.y),
                               std::min(full.z, launch.threads.z - origin_.z)};
    if (size.x != laid_out_.x || size.y != laid_out_.y || size.z != laid_out_.z) {
        lay_out_threads(size);
    }
    view_->group.threadgroup_position_in_grid = position;

    const uint32_t salt = plan_->order.salt(index);
    rotation_ = static_cast<int>(salt % 32);
    alive_ = thread_count_;
    barrier_waiting_ = 0;
    barrier_is_mixed_ = false;
    const uint32_t groups_here = view_->group.simdgroups_per_threadgroup;
    runnable_ = lowest_bits(groups_here);
    for (uint32_t i = 0; i < groups_here; ++i) {
        auto& group = simds_[i];
        group.alive = group.fresh = lowest_bits(thread_count_ - i * SM_SIMD_WIDTH);
    }
    simd_ = &simds_[first_of(runnable_)];
    if (launch.checks != Checks::Off) memory_.make_unspecified();
}

void Worker::lay_out_threads(sm_u32x3 size) {
    laid_out_ = size;
    thread_count_ = size.x * size.y * size.z;
    uint32_t index = 0;
    for (uint32_t z = 0; z < size.z; ++z) {
        for (uint32_t y = 0; y < size.y; ++y) {
            for (uint32_t x = 0; x < size.x; ++x, ++index) {
                auto& thread = view_->threads[index];
                thread.group = &view_->group;
                thread.position_in_threadgroup = {x, y, z};
                thread.index_in_threadgroup = index;
            }
        }
    }
    view_->group.threads_per_threadgroup = size;
    view_->group.simdgroups_per_threadgroup = (thread_count_ + 31) / 32;
    view_->group.quadgroups_per_threadgroup = (thread_count_ + 3) / 4;
    for (uint32_t i = 0; i < view_->group.simdgroups_per_threadgroup; ++i) {
        simds_[i] = SimdGroup{.first_thread = i * SM_SIMD_WIDTH};
    }
}

// ---- Scheduling

// What every fiber does, again and again, until its worker ends: start threads, and when one of
// them had to wait, finish it later.
void Worker::run_threads() {
    Fiber* const self = fiber_;
    for (;;) {
        run_fresh_lanes();
        Fiber* const next = choose();
        if (next == nullptr) continue;
        pool_.give_back(self);
        fiber_ = next;
        switch_fiber(*self, *next);
    }
}

void Worker::run_fresh_lanes() {
    while (simd_->fresh != 0) {
        const uint32_t lane = first_of(simd_->fresh);
        simd_->fresh &= ~(uint32_t{1} << lane);
        thread_ = simd_->first_thread + lane;
        auto& thread = view_->threads[thread_];
        thread.position_in_grid = {origin_.x + thread.position_in_threadgroup.x,
                                   origin_.y + thread.position_in_threadgroup.y,
                                   origin_.z + thread.position_in_threadgroup.z};
        entry_(&thread, &view_->arguments);
        finish_thread();
    }
}

// The running thread returned. Those that waited for it may go on.
void Worker::finish_thread() {
    SimdGroup& group = *simd_;
    const uint32_t index = group.first_thread / SM_SIMD_WIDTH;
    group.alive &= ~(uint32_t{1} << lane());
    --alive_;
    auto& simd = group.simd;
    if (simd.waiting != 0 && simd.waiting == group.alive && !simd.is_mixed) {
        if (simd.multiply != nullptr) {
            complete_products(simd, view_->matrix_lanes[index][simd.parity]);
        } else {
            complete_exchange(simd, view_->simd_lanes[index][simd.parity]);
        }
        release(simd, simd.waiting);
    }
    if (group.quad_waiting != 0) {
        auto& quad = group.quads[lane() / 4];
        if (quad.waiting != 0 && quad.waiting == (group.alive & quad_mask(lane())) &&
            !quad.is_mixed) {
            complete_exchange(quad, view_->quad_lanes[index][lane() / 4][quad.parity]);
            release(quad, group.quad_waiting);
        }
    }
    if (barrier_waiting_ != 0 && barrier_waiting_ == alive_ && !barrier_is_mixed_) {
        complete_barrier();
    }
}

// Who goes on: a lane that waited (its fiber), nobody yet (null: simd_ has fresh lanes to start),
// or this OS thread itself, because the threadgroup is done or has failed.
Fiber* Worker::choose() {
    for (;;) {
        if (!error_.empty()) return &main_;
        SimdGroup& group = *simd_;
        if (group.ready != 0) {
            const uint32_t lane = first_of(group.ready);
            group.ready &= ~(uint32_t{1} << lane);
            thread_ = group.first_thread + lane;
            return fiber_of_[thread_];
        }
        if (group.fresh != 0) return nullptr;
        if ((group.simd.waiting | group.quad_waiting | group.served_waiting) != 0) {
            if (!resolve_simdgroup()) return &main_;
            continue;
        }
        runnable_ &= ~(uint32_t{1} << group.first_thread / SM_SIMD_WIDTH);
        if (runnable_ == 0) {
            if (alive_ == 0 || !resolve_barrier()) return &main_;
        }
        simd_ = &simds_[first_of(runnable_)];
    }
}

// The running thread waits. Returns when it may go on.
void Worker::block() {
    Fiber* const self = fiber_;
    fiber_of_[thread_] = self;
    Fiber* next = choose();
    if (next == nullptr) {
        next = pool_.take();
        if (next == nullptr) {
            error_ = "out of memory for the stacks of threads";
            next = &main_;
        }
    }
    if (next == self) return;
    fiber_ = next;
    switch_fiber(*self, *next);
}

// ---- Meeting points

void Worker::threadgroup_barrier(sm_site site) {
    if (barrier_waiting_ == 0) {
        barrier_site_ = site;
    } else if (site != barrier_site_) {
        barrier_is_mixed_ = true;
    }
    site_of_[thread_] = site;
    simd_->at_barrier |= uint32_t{1} << lane();
    ++barrier_waiting_;
    if (barrier_waiting_ == alive_ && !barrier_is_mixed_ && complete_barrier()) {
        simd_->ready &= ~(uint32_t{1} << lane());
        return;
    }
    block();
}

bool Worker::complete_barrier() {
    if (alive_ != thread_count_ && plan_->launch.checks != Checks::Off) {
        report_returned_thread();
        return false;
    }
    ++barriers_;
    barrier_waiting_ = 0;
    const uint32_t groups = view_->group.simdgroups_per_threadgroup;
    for (uint32_t i = 0; i < groups; ++i) {
        auto& group = simds_[i];
        if (group.at_barrier == 0) continue;
        group.ready = group.at_barrier;
        group.at_barrier = 0;
        runnable_ |= uint32_t{1} << i;
    }
    return true;
}

const sm_lanes* Worker::simd_exchange(sm_site site, const void* value, uint32_t bytes,
                                      sm_combine combine) {
    if (serves_in_turns_) return exchange_served(site, value, bytes, combine, Scope::Simdgroup);
    const uint32_t group = thread_ / SM_SIMD_WIDTH;
    return exchange(simd_->simd, view_->simd_lanes[group], simd_->alive, simd_->simd.waiting, site,
                    value, bytes, combine);
}

const sm_lanes* Worker::quad_exchange(sm_site site, const void* value, uint32_t bytes,
                                      sm_combine combine) {
    if (serves_in_turns_) return exchange_served(site, value, bytes, combine, Scope::Quad);
    const uint32_t group = thread_ / SM_SIMD_WIDTH, quad = lane() / 4;
    return exchange(simd_->quads[quad], view_->quad_lanes[group][quad],
                    simd_->alive & quad_mask(lane()), simd_->quad_waiting, site, value, bytes,
                    combine);
}

// `members` are the lanes that must come; `waiting` is the SIMD group's set of lanes that wait for
// this kind of meeting.
[[gnu::always_inline]] inline const sm_lanes* Worker::exchange(Rendezvous& meeting,
                                                               std::array<sm_lanes, 2>& lanes,
                                                               uint32_t members, uint32_t& waiting,
                                                               sm_site site, const void* value,
                                                               uint32_t bytes, sm_combine combine) {
    sm_lanes& meet = lanes[meeting.parity];
    const bool is_complete =
        meeting.arrive(lane(), members, site, reinterpret_cast<const void*>(combine), bytes);
    waiting |= uint32_t{1} << lane();
    meeting.combine = combine;
    meeting.multiply = nullptr;
    if (!meeting.is_mixed) copy_value(meet.value + lane() * bytes, value, bytes);
    if (is_complete) {
        complete_exchange(meeting, meet);
        release(meeting, waiting);
        simd_->ready &= ~(uint32_t{1} << lane());
        return &meet;
    }
    site_of_[thread_] = site;
    block();
    return &meet;
}

inline void Worker::complete_exchange(const Rendezvous& meeting, sm_lanes& lanes) {
    lanes.active = meeting.waiting;
    lanes.bytes = meeting.amount;
    for (uint32_t absent = ~meeting.waiting; absent != 0; absent &= absent - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(absent));
        std::memset(lanes.value + lane * meeting.amount, 0, meeting.amount);
    }
    if (meeting.combine != nullptr) meeting.combine(&lanes);
}

// Those who met may go on.
inline void Worker::release(Rendezvous& meeting, uint32_t& waiting) {
    const uint32_t active = meeting.waiting;
    meeting.waiting = 0;
    meeting.parity ^= 1;
    waiting &= ~active;
    simd_->ready |= active;
}

double* Worker::matrix_operands() {
    MatrixLanes& lanes = serves_in_turns_
                             ? served_view_->matrices[thread_]
                             : view_->matrix_lanes[thread_ / SM_SIMD_WIDTH][simd_->simd.parity];
    return &lanes.operands[0][MatrixLanes::place(lane())];
}

const double* Worker::matrix_products(sm_site site, const sm_product* products, uint32_t n_products,
                                      uint32_t n_operands, sm_multiply multiply) {
    if (serves_in_turns_) {
        return products_served(site, products, n_products, n_operands, multiply);
    }
    Rendezvous& meeting = simd_->simd;
    MatrixLanes& lanes = view_->matrix_lanes[thread_ / SM_SIMD_WIDTH][meeting.parity];
    const double* const result = &lanes.results[0][MatrixLanes::place(lane())];
    const bool is_complete = meeting.arrive(lane(), simd_->alive, site, products, n_products);
    meeting.multiply = multiply;
    meeting.n_operands = n_operands;
    if (is_complete) {
        complete_products(meeting, lanes);
        release(meeting, meeting.waiting);
        simd_->ready &= ~(uint32_t{1} << lane());
        return result;
    }
    site_of_[thread_] = site;
    block();
    return result;
}

void Worker::complete_products(const Rendezvous& meeting, MatrixLanes& lanes) {
    for (uint32_t absent = ~meeting.waiting; absent != 0; absent &= absent - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(absent));
        for (uint32_t i = 0; i < meeting.n_operands; ++i) {
            lanes.operands[i][MatrixLanes::place(lane)] = 0;
        }
    }
    lanes.multiply(static_cast<const sm_product*>(meeting.task), meeting.amount, meeting.multiply);
}

// ---- Memory

void Worker::watch_threadgroup_array(const char* begin, uint64_t bytes, const char* name) {
    if (!checks_accesses_) return;
    checker_.add(Region{.begin = reinterpret_cast<uintptr_t>(begin),
                        .bytes = bytes,
                        .kind = Region::Kind::Threadgroup,
                        .name = "threadgroup memory '" + std::string(name) + "'"});
}

void* Worker::threadgroup_storage(const sm_threadgroup_variable& variable) {
    if (char* const placed = memory_.find(variable)) return placed;
    char* const array = memory_.place(variable);
    if (array == nullptr) {
        set_error("has no room for threadgroup variable '" + std::string(variable.name) + "'", 0);
        leave_fiber(*fiber_, main_);
    }
    watch_threadgroup_array(array, variable.bytes, variable.name);
    if (plan_->launch.checks != Checks::Off) {
        ThreadgroupMemory::make_unspecified(array, variable.bytes);
    }
    return array;
}

void Worker::count(const Access& access) {
    if (checker_.buffer_of(access) == nullptr) return;
    counter_->count(access.address, access.bytes, access.kind, thread_ / SM_SIMD_WIDTH);
}

void Worker::refuse(const Access& access) {
    report_access(access);
    leave_fiber(*fiber_, main_);
}

void Worker::object_overrun(int64_t offset, uint64_t bytes, uint64_t object_bytes,
                            const char* object, uint32_t kind, sm_site site) {
    report_overrun(offset, bytes, object_bytes, object, kind, site);
    leave_fiber(*fiber_, main_);
}

void Worker::reserve_stack(uint64_t bytes) {
    // What the kernel calls from there on, the executor included, stands below the variable.
    constexpr uint64_t kForCalls = uint64_t{16} << 10;
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    const auto begin = reinterpret_cast<uintptr_t>(fiber_->stack_begin);
    if (here > begin + kForCalls && bytes <= here - begin - kForCalls) return;
    report_stack(bytes);
    leave_fiber(*fiber_, main_);
}

void Worker::log(const LogMessage& message) const {
    if (plan_->launch.log) {
        plan_->launch.log(message);
    } else {
        std::fprintf(stderr, "%s\n", described(message).c_str());
    }
}

}  // namespace softmetal::exec
