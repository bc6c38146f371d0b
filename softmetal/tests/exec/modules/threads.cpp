// Threads, barriers and lanes.
#include "hand_module.h"

namespace {

const sm_threadgroup_variable shared_numbers = {
    .function = "reverse", .name = "numbers", .bytes = 4096, .alignment = 4, .line = 1};
const sm_threadgroup_variable shared_sums = {
    .function = "reverse", .name = "sums", .bytes = 3, .alignment = 1, .line = 2};
const sm_threadgroup_variable round_numbers = {
    .function = "rounds", .name = "numbers", .bytes = 8192, .alignment = 16, .line = 3};

// Writes all it knows of itself.
KERNEL(identify) {
    const auto& t = k.thread;
    const auto& g = *t.group;
    const auto grid = g.threads_per_grid;
    const auto at = t.position_in_grid;
    auto* out = k.buffer<unsigned>(0) + 16 * ((at.z * grid.y + at.y) * grid.x + at.x);
    const unsigned values[16] = {
        t.position_in_threadgroup.x,          t.position_in_threadgroup.y,
        t.position_in_threadgroup.z,          t.index_in_threadgroup,
        g.threadgroup_position_in_grid.x,     g.threadgroup_position_in_grid.y,
        g.threadgroup_position_in_grid.z,     g.threads_per_threadgroup.x,
        g.threads_per_threadgroup.y,          g.threads_per_threadgroup.z,
        g.simdgroups_per_threadgroup,         g.dispatch_simdgroups_per_threadgroup,
        g.quadgroups_per_threadgroup,         g.threadgroups_per_grid.x,
        g.dispatch_threads_per_threadgroup.x, sm_current_thread() == &t};
    for (unsigned i = 0; i < 16; ++i) out[i] = values[i];
}

// out[i] = the number of the thread at the other end of the threadgroup.
KERNEL(reverse) {
    auto* numbers = static_cast<unsigned*>(sm_threadgroup_storage(&shared_numbers));
    const unsigned i = k.thread.index_in_threadgroup;
    const unsigned n = k.thread.group->threads_per_threadgroup.x;
    numbers[i] = k.thread.position_in_grid.x;
    sm_threadgroup_barrier(here(), 2);
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = numbers[n - 1 - i];
}

// Each round every thread takes its neighbour's number, by way of threadgroup memory.
KERNEL(rounds) {
    auto* numbers = static_cast<unsigned*>(sm_threadgroup_storage(&round_numbers));
    const unsigned i = k.thread.index_in_threadgroup;
    const unsigned n = k.thread.group->threads_per_threadgroup.x;
    const unsigned n_rounds = *k.buffer<unsigned>(1);
    unsigned mine = k.thread.position_in_grid.x;
    for (unsigned round = 0; round < n_rounds; ++round) {
        unsigned* half = numbers + round % 2 * 1024;
        half[i] = mine;
        sm_threadgroup_barrier(here(), 2);
        mine = half[(i + 1) % n] + 1;
    }
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = mine;
}

// Binding 0 of threadgroup memory holds one number per SIMD group.
KERNEL(sum_groups) {
    auto* sums = static_cast<unsigned*>(k.arguments.threadgroup[0]);
    const unsigned i = k.thread.index_in_threadgroup;
    const unsigned sum = simd_sum(k.thread.position_in_grid.x, here(), k.lane());
    if (k.lane() == 0) sums[i / 32] = sum;
    sm_threadgroup_barrier(here(), 2);
    unsigned total = 0;
    for (unsigned s = 0; s < k.thread.group->simdgroups_per_threadgroup; ++s) total += sums[s];
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = total;
}

// Exchanges of all sizes, back to back: a lane that is ahead must not disturb one that is behind.
template <unsigned kWords>
unsigned mix(unsigned value, unsigned lane, unsigned n, sm_site site) {
    unsigned words[kWords];
    for (unsigned w = 0; w < kWords; ++w) words[w] = value * (w + 1);
    const sm_lanes* lanes = sm_simd_exchange(site, words, sizeof words, nullptr);
    unsigned sum = lanes->bytes;
    for (unsigned w = 0; w < kWords; ++w) {
        sum = sum * 31 + value_of<unsigned>(lanes, (lane * 7 + w + 1) % n * kWords + w);
    }
    return sum;
}
KERNEL(run_ahead) {
    const unsigned n = *k.buffer<unsigned>(1), lane = k.lane();
    unsigned value = k.thread.position_in_grid.x;
    for (unsigned round = 0; round < 50; ++round) {
        value = mix<1>(value, lane, n, here());
        value = mix<16>(value, lane, n, here());
        if (round % 3 == 0) sm_simdgroup_barrier(here(), 0);
        value = mix<3>(value, lane, n, here());
        const unsigned char small = static_cast<unsigned char>(value);
        const auto* lanes = sm_simd_exchange(here(), &small, 1, nullptr);
        value += value_of<unsigned char>(lanes, (lane + 1) % n);
    }
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = value;
}

// The set of lanes that take part, and whether the slots of the others are zero.
KERNEL(active) {
    const unsigned limit = *k.buffer<unsigned>(1);
    const unsigned one = 1;
    sm_simd_exchange(here(), &one, 4, nullptr);  // leaves ones behind
    if (k.thread.index_in_threadgroup >= limit) return;
    for (unsigned round = 0; round < 3; ++round) {
        const auto* lanes = sm_simd_exchange(here(), &one, 4, nullptr);
        unsigned seen = 0;
        for (unsigned i = 0; i < 32; ++i) seen |= value_of<unsigned>(lanes, i) << i;
        k.buffer<unsigned>(0)[2 * k.thread.index_in_threadgroup] = lanes->active;
        k.buffer<unsigned>(0)[2 * k.thread.index_in_threadgroup + 1] = seen;
    }
}

// Lanes return one after another; the rest go on among themselves.
KERNEL(peel) {
    unsigned sum = 0;
    for (unsigned round = 0; round <= k.lane(); ++round) sum += simd_sum(1u, here(), k.lane());
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = sum;
}

// A lane waits for its quad only: quads make different numbers of rounds.
KERNEL(quads) {
    const unsigned quad = k.lane() / 4;
    unsigned sum = 0;
    for (unsigned round = 0; round <= quad; ++round) {
        const unsigned value = k.thread.position_in_grid.x + round;
        const auto* lanes = sm_quad_exchange(here(), &value, 4, sum_lanes<unsigned>);
        sum += result_of<unsigned>(lanes, k.lane());
    }
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] =
        simd_sum(sum, here(), k.lane()) * 2 + (sum & 1);
}

// Two branches, and branches in those.
KERNEL(nested) {
    const unsigned lane = k.lane();
    unsigned result;
    if (lane < 20) {
        result = simd_sum(1u, here(), lane);
        if (lane < 5) {
            result += 100 * simd_sum(1u, here(), lane);
        } else {
            result += 1000 * simd_sum(1u, here(), lane);
        }
    } else {
        result = simd_sum(2u, here(), lane);
        const auto* lanes = sm_quad_exchange(here(), &lane, 4, sum_lanes<unsigned>);
        result += 10000 * result_of<unsigned>(lanes, lane);
    }
    k.buffer<unsigned>(0)[2 * k.thread.position_in_grid.x] = result;
    k.buffer<unsigned>(0)[2 * k.thread.position_in_grid.x + 1] = simd_sum(1u, here(), lane);
}

KERNEL(two_barriers) {
    if (k.thread.index_in_threadgroup < 40) {
        sm_threadgroup_barrier(here(), 2);
        k.buffer<unsigned>(0)[k.thread.index_in_threadgroup] = 1;
    } else {
        sm_threadgroup_barrier(here(), 2);
        k.buffer<unsigned>(0)[k.thread.index_in_threadgroup] = 2;
    }
}

// One lane stands at a barrier of the threadgroup, the others at one of the SIMD group.
KERNEL(barrier_and_exchange) {
    if (k.lane() == 3) {
        sm_threadgroup_barrier(here(), 2);
    } else {
        sm_simdgroup_barrier(here(), 2);
    }
}

#define SAME_LINE(value) \
    (k.lane() < 16 ? simd_sum(1u, here(), k.lane()) : unsigned(simd_sum(1.0f, here(), k.lane())))
KERNEL(same_line) { k.buffer<unsigned>(0)[k.lane()] = SAME_LINE(1); }

KERNEL(return_before_barrier) {
    if (k.thread.index_in_threadgroup >= *k.buffer<unsigned>(1)) return;
    sm_threadgroup_barrier(here(), 2);
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = 7;
}

// What threadgroup memory holds before anything is written.
KERNEL(first_read) {
    const auto* bytes = static_cast<const unsigned char*>(sm_threadgroup_storage(&shared_sums));
    const auto* bound = static_cast<const unsigned char*>(k.arguments.threadgroup[2]);
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = bytes[2] << 8 | bound[15];
    auto* writable = static_cast<unsigned char*>(sm_threadgroup_storage(&shared_sums));
    writable[2] = 1;
}

KERNEL(log) {
    if (k.thread.group == nullptr) return;
    sm_log(16, "tests", "exec", "hello");
}

KERNEL(count_up) {
    __atomic_fetch_add(k.buffer<unsigned>(0), 1, __ATOMIC_RELAXED);
    if (k.arguments.buffers[1] == nullptr) return;
    // Its host asks to stop after this threadgroup.
    if (k.thread.group->threadgroup_position_in_grid.x == 3) *k.buffer<unsigned char>(1) = 1;
}

KERNEL(subtract) {  // with denormal results
    k.buffer<float>(0)[0] = k.buffer<float>(1)[0] - k.buffer<float>(1)[1];
}

const sm_kernel kernels[] = {
    KERNEL_ROW(identify),
    KERNEL_ROW(reverse),
    KERNEL_ROW(rounds),
    KERNEL_ROW(sum_groups),
    KERNEL_ROW(run_ahead),
    KERNEL_ROW(active),
    KERNEL_ROW(peel),
    KERNEL_ROW(quads),
    KERNEL_ROW(nested),
    KERNEL_ROW(two_barriers),
    KERNEL_ROW(same_line),
    KERNEL_ROW(return_before_barrier),
    KERNEL_ROW(first_read),
    KERNEL_ROW(log),
    KERNEL_ROW(count_up),
    KERNEL_ROW(subtract),
    KERNEL_ROW(barrier_and_exchange),
};
const sm_threadgroup_variable* const variables[] = {&shared_numbers, &shared_sums, &round_numbers};
const sm_source_file files[] = {{sm_hash_file(__FILE__), __FILE__}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const sm_module softmetal_module = {
    .abi_version = SM_ABI_VERSION,
    .kernels = kernels,
    .n_kernels = sizeof kernels / sizeof kernels[0],
    .threadgroup_variables_begin = variables,
    .threadgroup_variables_end = variables + 3,
    .files = files,
    .n_files = 1,
    .query = &active_query,
};
