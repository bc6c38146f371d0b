// Runs threadgroups on one OS thread: every GPU thread on a fiber, or many after one another on the
// same fiber when they do not have to wait. Scheduling stays inside a SIMD group of 32 lanes until
// all of them wait for a threadgroup barrier or have returned, then goes to the next SIMD group.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "softmetal/base/fault.h"
#include "softmetal/exec/abi.h"
#include "softmetal/exec/fiber.h"
#include "softmetal/exec/grid_plan.h"
#include "softmetal/exec/memory_checker.h"
#include "softmetal/exec/memory_counter.h"
#include "softmetal/exec/threadgroup_memory.h"

namespace softmetal::exec {

// Where the lanes of a SIMD group (or of a quad) meet to exchange values. There are two buffers:
// a lane that leaves early may already write its next value while others still read this one's.
struct Rendezvous {
    // What the lanes must agree on: the place, what is to be done there (a combine function or a
    // list of products), and how many bytes or products there are.
    sm_site site = 0;
    const void* task = nullptr;
    uint32_t amount = 0;

    uint32_t waiting = 0;   // lanes
    uint32_t parity = 0;    // the buffer in use
    bool is_mixed = false;  // not all waiting lanes came to the same
    sm_combine combine = nullptr;
    sm_multiply multiply = nullptr;  // for products of matrices
    uint32_t n_operands = 0;

    // True when all `members` have come and came to the same.
    bool arrive(uint32_t lane, uint32_t members, sm_site at, const void* to_do, uint32_t how_much) {
        if (waiting == 0) {
            site = at;
            task = to_do;
            amount = how_much;
        } else if (site != at || task != to_do || amount != how_much) {
            // One source position can hold two calls: a macro, or two instances of a template.
            is_mixed = true;
        }
        waiting |= uint32_t{1} << lane;
        return waiting == members && !is_mixed;
    }
};

struct SimdGroup {
    static constexpr uint32_t kQuads = SM_SIMD_WIDTH / 4;

    // Sets of lanes.
    uint32_t alive = 0;           // not returned
    uint32_t fresh = 0;           // not started
    uint32_t ready = 0;           // waited and may go on
    uint32_t at_barrier = 0;      // wait for the threadgroup
    uint32_t quad_waiting = 0;    // wait for their quad
    uint32_t served_waiting = 0;  // wait to be served (serve_lowest_site_first)
    uint32_t first_thread = 0;
    Rendezvous simd;
    std::array<Rendezvous, kQuads> quads;
};

// Where signals of the calling thread are handled, for one that overflowed its stack. Uses the one
// that is there, if any.
class AlternateStack {
  public:
    AlternateStack();
    ~AlternateStack();
    AlternateStack(const AlternateStack&) = delete;
    AlternateStack& operator=(const AlternateStack&) = delete;

  private:
    void* memory_ = nullptr;
};

// The operands and results of products of matrices, in the pairs that lanes have of them.
struct MatrixLanes {
    using Matrix = std::array<double, SM_SIMD_WIDTH>;
    alignas(64) std::array<Matrix, SM_MATRIX_OPERANDS> operands;
    std::array<Matrix, SM_MATRIX_PRODUCTS> results;

    static uint32_t place(uint32_t lane) {
        return (sm_matrix_row(lane) * 8 + sm_matrix_column(lane)) / 2;
    }
    void multiply(const sm_product* products, uint32_t n_products, sm_multiply function) {
        function(reinterpret_cast<const float*>(operands.data()), products, n_products,
                 reinterpret_cast<float*>(results.data()));
    }
};

// Everything of the executor that a kernel module reads or writes, in one stretch of memory.
struct KernelView {
    static constexpr uint32_t kSimdGroups = GridPlan::kMaxThreads / SM_SIMD_WIDTH;
    template <class Lanes>
    using Buffers = std::array<Lanes, 2>;

    sm_group group;
    sm_arguments arguments;
    std::array<sm_thread, GridPlan::kMaxThreads> threads;
    std::array<Buffers<sm_lanes>, kSimdGroups> simd_lanes;
    std::array<std::array<Buffers<sm_lanes>, SimdGroup::kQuads>, kSimdGroups> quad_lanes;
    std::array<Buffers<MatrixLanes>, kSimdGroups> matrix_lanes;
};

// The same for lanes that are served in turns: each has its own.
struct ServedView {
    std::array<sm_lanes, GridPlan::kMaxThreads> lanes;
    std::array<MatrixLanes, GridPlan::kMaxThreads> matrices;
};

class Worker {
  public:
    // Each OS thread that runs kernels has one.
    static Worker& of_this_thread();
    // The one that is running a kernel on this thread, or null.
    static Worker* running() { return running_; }

    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // begin, run_threadgroup while it returns true, end. False: error() says why.
    bool begin(const GridPlan& plan);
    bool run_threadgroup(uint64_t index);
    void end();

    const std::string& error() const { return error_; }
    uint64_t barriers() const { return barriers_; }
    const MemoryCounter* counter() const { return counter_ ? &*counter_ : nullptr; }

    // What the sm_* functions do for the running thread.
    const sm_thread* current_thread() const { return &view_->threads[thread_]; }
    void threadgroup_barrier(sm_site site);
    const sm_lanes* simd_exchange(sm_site site, const void* value, uint32_t bytes,
                                  sm_combine combine);
    const sm_lanes* quad_exchange(sm_site site, const void* value, uint32_t bytes,
                                  sm_combine combine);
    double* matrix_operands();
    const double* matrix_products(sm_site site, const sm_product* products, uint32_t n_products,
                                  uint32_t n_operands, sm_multiply multiply);
    void* threadgroup_storage(const sm_threadgroup_variable& variable);
    void log(const LogMessage& message) const;
    void reserve_stack(uint64_t bytes);  // returns if the running thread's has room for them
    [[gnu::always_inline]] void access(const Access& access) {
        if (!checks_accesses_) return;
        const auto stack = reinterpret_cast<uintptr_t>(fiber_->stack_begin);
        if (!checker_.allows(access, stack, FiberPool::kStackBytes)) refuse(access);
        if (counter_) [[unlikely]]
            count(access);
    }
    [[noreturn]] void object_overrun(int64_t offset, uint64_t bytes, uint64_t object_bytes,
                                     const char* object, uint32_t kind, sm_site site);

  private:
    enum class Scope : uint8_t { Simdgroup, Quad };
    struct Pending {  // what a lane came to, when lanes are served in turns
        Scope scope = Scope::Simdgroup;
        const void* task = nullptr;
        uint32_t amount = 0;
        sm_combine combine = nullptr;
        sm_multiply multiply = nullptr;
        uint32_t n_operands = 0;
        alignas(16) std::array<sm_u8, SM_MAX_LANE_BYTES> value = {};
    };

    Worker();

    // Scheduling, worker.cpp.
    static void fiber_function(void* worker) { static_cast<Worker*>(worker)->run_threads(); }
    void run_threads();
    void run_fresh_lanes();
    void finish_thread();
    Fiber* choose();
    void block();
    void prepare_group(uint64_t index);
    void lay_out_threads(sm_u32x3 size);
    const sm_lanes* exchange(Rendezvous& meeting, std::array<sm_lanes, 2>& lanes, uint32_t members,
                             uint32_t& waiting, sm_site site, const void* value, uint32_t bytes,
                             sm_combine combine);
    void complete_exchange(const Rendezvous& meeting, sm_lanes& lanes);
    void complete_products(const Rendezvous& meeting, MatrixLanes& lanes);
    void release(Rendezvous& meeting, uint32_t& waiting);
    bool complete_barrier();
    void watch_threadgroup_array(const char* begin, uint64_t bytes, const char* name);
    [[noreturn]] void refuse(const Access& access);

    // Faults of the processor, worker_faults.cpp.
    static bool claim_fault(const Fault& fault);
    [[noreturn]] static void after_fault();
    void report_fault();

    void count(const Access& access);

    // Lanes that do not stand at one place, divergence.cpp. False: error_ is set.
    bool resolve_simdgroup();
    bool resolve_barrier();
    const sm_lanes* exchange_served(sm_site site, const void* value, uint32_t bytes,
                                    sm_combine combine, Scope scope);
    const double* products_served(sm_site site, const sm_product* products, uint32_t n_products,
                                  uint32_t n_operands, sm_multiply multiply);
    void wait_to_be_served(sm_site site);
    void serve(SimdGroup& group, uint32_t lanes);
    void serve_exchange(const SimdGroup& group, uint32_t lanes);
    void serve_products(const SimdGroup& group, uint32_t lanes);
    uint64_t rank(sm_site site) const;

    // Reports, report.cpp.
    void report_access(const Access& access);
    void report_overrun(int64_t offset, uint64_t bytes, uint64_t object_bytes, const char* object,
                        uint32_t kind, sm_site site);
    void report_stack(uint64_t variable_bytes);
    void report_divergence();
    void report_returned_thread();
    void set_error(const std::string& what, sm_site site);           // of the running thread
    void set_error_of_group(const std::string& what, sm_site site);  // of no thread alone
    std::string describe_site(sm_site site) const;
    std::string describe_threads(const std::vector<uint32_t>& threads) const;

    SimdGroup& simd_of(uint32_t thread) { return simds_[thread / SM_SIMD_WIDTH]; }
    uint32_t lane() const { return thread_ % SM_SIMD_WIDTH; }
    // The first lane of a set, in the order that the run's seed asks for.
    uint32_t first_of(uint32_t set) const {
        return (static_cast<uint32_t>(std::countr_zero(std::rotr(set, rotation_))) + rotation_) %
               32;
    }

    [[gnu::tls_model("initial-exec")]] static constinit thread_local Worker* running_;

    // What the running thread touches at every call stands together.
    SimdGroup* simd_ = nullptr;  // of the running thread
    uint32_t thread_ = 0;        // index in its threadgroup
    uint32_t alive_ = 0;         // threads that have not returned
    Fiber* fiber_ = nullptr;     // the running one
    uint32_t barrier_waiting_ = 0;
    bool barrier_is_mixed_ = false;
    bool serves_in_turns_ = false;
    bool checks_accesses_ = false;
    uint32_t runnable_ = 0;  // SIMD groups with lanes that are fresh or ready
    int rotation_ = 0;
    sm_site barrier_site_ = 0;
    KernelView* view_ = nullptr;
    ServedView* served_view_ = nullptr;  // once lanes were served in turns
    std::array<Fiber*, GridPlan::kMaxThreads> fiber_of_ = {};
    std::array<sm_site, GridPlan::kMaxThreads> site_of_ = {};
    std::array<SimdGroup, KernelView::kSimdGroups> simds_;

    MemoryChecker checker_;
    std::optional<MemoryCounter> counter_;

    const GridPlan* plan_ = nullptr;
    Fiber main_;
    FiberPool pool_;
    sm_entry entry_ = nullptr;
    sm_u32x3 origin_ = {};    // of the threadgroup, in threads
    sm_u32x3 laid_out_ = {};  // the size that view_->threads was filled for
    uint32_t thread_count_ = 0;
    uint64_t barriers_ = 0;
    uint64_t callers_float_modes_ = 0;
    bool is_in_kernel_ = false;  // a fault now is the kernel's
    Fault fault_ = {};
    AlternateStack alternate_stack_;
    std::string error_;

    ThreadgroupMemory memory_;
    std::vector<Pending> pending_;  // by thread; empty unless lanes are served in turns
};

}  // namespace softmetal::exec
