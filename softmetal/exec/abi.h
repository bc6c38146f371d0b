// The contract between a compiled kernel module and the executor that runs it. Both sides include
// this page: the stand-in Metal library (msl/stdlib) on one, exec/ on the other. It is
// freestanding, because it is also compiled for GPUs.
//
// A module is one shared object made from one MSL translation unit. It exports `softmetal_module`
// and calls the `sm_*` functions below, which the program that loads it provides.
#pragma once

typedef unsigned char sm_u8;
typedef unsigned int sm_u32;
typedef unsigned long long sm_u64;
typedef long long sm_i64;

enum : sm_u32 {
    SM_ABI_VERSION = 3,
    SM_SIMD_WIDTH = 32,
    SM_MAX_BUFFERS = 31,      // Metal's argument table
    SM_MAX_THREADGROUP = 31,  // threadgroup memory bindings
    SM_MAX_LANE_BYTES = 64,   // the largest value a lane can hand to the others
};

// ---- What a thread knows of itself

struct sm_u32x3 {
    sm_u32 x, y, z;
};

// The same for all threads of a threadgroup. "threads_per_threadgroup" is the size of this
// threadgroup, smaller than the dispatched one at a ragged edge of dispatchThreads.
struct sm_group {
    sm_u32x3 threadgroup_position_in_grid;
    sm_u32x3 threads_per_threadgroup;
    sm_u32x3 dispatch_threads_per_threadgroup;
    sm_u32x3 threads_per_grid;
    sm_u32x3 threadgroups_per_grid;
    sm_u32 simdgroups_per_threadgroup;
    sm_u32 dispatch_simdgroups_per_threadgroup;
    sm_u32 quadgroups_per_threadgroup;
    sm_u32 dispatch_quadgroups_per_threadgroup;
};

struct sm_thread {
    const sm_group* group;
    sm_u32x3 position_in_grid;
    sm_u32x3 position_in_threadgroup;
    sm_u32 index_in_threadgroup;  // lane = index % 32, SIMD group = index / 32
};

struct sm_arguments {
    void* buffers[SM_MAX_BUFFERS];          // [[buffer(n)]], offset applied; null when unbound
    void* threadgroup[SM_MAX_THREADGROUP];  // [[threadgroup(n)]]
};

typedef void (*sm_entry)(const sm_thread*, const sm_arguments*);

// ---- Where a call stands in the source

// A barrier or SIMD function is identified by its source position, never by its address: the
// optimiser may duplicate or merge calls. Layout: hash of the file name (32 bits), line (20),
// column (12). The module's file table turns the hash back into a name.
typedef sm_u64 sm_site;

constexpr sm_u32 sm_hash_file(const char* name) {  // FNV-1a
    sm_u32 hash = 2166136261u;
    while (*name) hash = (hash ^ static_cast<sm_u8>(*name++)) * 16777619u;
    return hash;
}
constexpr sm_site sm_make_site(sm_u32 file_hash, sm_u32 line, sm_u32 column) {
    return static_cast<sm_u64>(file_hash) << 32 | static_cast<sm_u64>(line & 0xfffff) << 12 |
           (column & 0xfff);
}
constexpr sm_u32 sm_site_file(sm_site site) { return static_cast<sm_u32>(site >> 32); }
constexpr sm_u32 sm_site_line(sm_site site) { return static_cast<sm_u32>(site >> 12) & 0xfffff; }
constexpr sm_u32 sm_site_column(sm_site site) { return static_cast<sm_u32>(site) & 0xfff; }

// ---- What a module says of itself

enum sm_argument_kind : sm_u8 { SM_ARGUMENT_BUFFER, SM_ARGUMENT_THREADGROUP };

struct sm_argument {
    const char* name;
    const char* type;               // as written in the source, without attributes
    const char* function_constant;  // exists only when this constant is true; null: always
    sm_argument_kind kind;
    sm_u8 index;         // [[buffer(index)]] or [[threadgroup(index)]]
    sm_u8 is_constant;   // `constant` address space
    sm_u8 is_read_only;  // constant, or pointer/reference to const
    sm_u8 is_reference;  // one value, so a binding must hold at least `bytes`
    sm_u32 alignment;    // of the element
    sm_u64 bytes;        // of the element a pointer points to, or of the value
};

struct sm_kernel {
    const char* name;  // host_name, or the function's own
    sm_entry entry;
    const sm_argument* arguments;
    sm_u32 n_arguments;
    sm_u32 line;  // where it is defined
    const char* file;
};

// MTLDataType numbers (MTL::DataTypeFloat == 3, ...).
struct sm_function_constant {
    const char* name;
    sm_u32 index;
    sm_u32 type;
    sm_u32 bytes;
};

// Checked modules also export `softmetal_constant_uses`: which function constants a kernel depends
// on. The row with a null entry ends the list.
struct sm_constant_use {
    sm_entry entry;
    const char* name;
    sm_u32 is_tested;  // 0: reads the value; 1: asks is_function_constant_defined
};

// One `threadgroup T name[n];` in a kernel body, in one instance of the kernel. `function` is the
// text of __PRETTY_FUNCTION__, which ties it to the sm_query of the kernel it stands in.
struct sm_threadgroup_variable {
    const char* function;
    const char* name;
    sm_u64 bytes;
    sm_u32 alignment;
    sm_u32 line;
};

struct sm_source_file {
    sm_u32 hash;
    const char* name;
};

// While `*module.query` is set, an entry does not run its kernel but fills this in and returns.
// Arguments may then point anywhere; nothing is read through them. One query at a time.
struct sm_query {
    const char* function;      // matches sm_threadgroup_variable::function
    sm_u32 max_total_threads;  // [[max_total_threads_per_threadgroup(n)]]; 0: not given
};

struct sm_module {
    sm_u32 abi_version;
    sm_u32 is_checked;  // every memory access calls sm_access
    const sm_kernel* kernels;
    sm_u32 n_kernels;
    sm_u32 n_function_constants;
    const sm_function_constant* function_constants;
    // The threadgroup variables of all kernels: [begin, end) of pointers, collected by the linker.
    const sm_threadgroup_variable* const* threadgroup_variables_begin;
    const sm_threadgroup_variable* const* threadgroup_variables_end;
    const sm_source_file* files;
    sm_u32 n_files;
    sm_query* volatile* query;
};

// ---- What the executor does for a kernel

// The values of the lanes of one SIMD group at one call. `value` holds them one after the other,
// lane i at i * bytes; lanes outside `active` hold zeros. A combine function runs once, in
// whichever lane arrives last, and may write results of the same size to `result`.
struct sm_lanes {
    alignas(64) sm_u8 value[SM_SIMD_WIDTH * SM_MAX_LANE_BYTES];
    alignas(64) sm_u8 result[SM_SIMD_WIDTH * SM_MAX_LANE_BYTES];
    sm_u32 active;  // bit i: lane i takes part
    sm_u32 bytes;
};
typedef void (*sm_combine)(sm_lanes*);

// Bits of an access. Above SM_ALIGNMENT_SHIFT stands the binary logarithm of the alignment that the
// access relies on.
enum sm_access_kind : sm_u32 { SM_READ = 1, SM_WRITE = 2, SM_ATOMIC = 4, SM_ALIGNMENT_SHIFT = 8 };

// Marks a function that touches only what the executor handed to it, a combine function for
// example: its own accesses are not checked.
#define SM_TRUSTED __attribute__((annotate("softmetal.trusted")))

extern "C" {
extern const sm_module softmetal_module;

// The calling thread. Constant in a thread, so that calls may be merged and moved.
__attribute__((const)) const sm_thread* sm_current_thread();

// Barriers. flags are MSL's mem_flags bits.
void sm_threadgroup_barrier(sm_site site, sm_u32 flags);
void sm_simdgroup_barrier(sm_site site, sm_u32 flags);

// Waits until every lane of the SIMD group (of the quad) that has not returned stands at `site`,
// then gives each the values of all. `combine` may be null. The result is valid until this lane's
// next call of one of these functions. bytes <= SM_MAX_LANE_BYTES, the same in every lane. In
// sm_quad_exchange only the four lanes of the quad take part; values keep their lane of 32.
const sm_lanes* sm_simd_exchange(sm_site site, const void* value, sm_u32 bytes, sm_combine combine);
const sm_lanes* sm_quad_exchange(sm_site site, const void* value, sm_u32 bytes, sm_combine combine);

// Products of 8 by 8 matrices of floats. A matrix is spread over a SIMD group: each lane has a pair
// of neighbours of one row, in the layout of Apple's GPUs.
constexpr sm_u32 sm_matrix_row(sm_u32 lane) { return (lane >> 4 & 1) * 4 + (lane >> 1 & 3); }
constexpr sm_u32 sm_matrix_column(sm_u32 lane) { return (lane >> 3 & 1) * 4 + (lane & 1) * 2; }
enum : sm_u32 { SM_MATRIX_OPERANDS = 64, SM_MATRIX_PRODUCTS = 32 };  // in one call
struct sm_product {
    sm_u8 left, right;  // operands
};
// results[i] = operands[left] * operands[right], all matrices row by row.
typedef void (*sm_multiply)(const float* operands, const sm_product* products, sm_u32 n_products,
                            float* results);

// The product of two matrices: this lane's pair, passed as the bits of a double. A pure function of
// all lanes, which is why calls may be moved as long as all lanes still make them: exec/pass turns
// several of them into one sm_matrix_products.
__attribute__((const, convergent)) double sm_matrix_product(sm_site site, double left, double right,
                                                            sm_multiply multiply);
// Many products at once: where this lane puts its pair of operand 0; those of the next operands
// follow SM_SIMD_WIDTH pairs apart. Good for the next sm_matrix_products, and no other call
// between.
double* sm_matrix_operands();
// This lane's pair of product 0; the next follow SM_SIMD_WIDTH pairs apart. Valid like the result
// of sm_simd_exchange. `products` also identifies the call and must be the same in all lanes.
const double* sm_matrix_products(sm_site site, const sm_product* products, sm_u32 n_products,
                                 sm_u32 n_operands, sm_multiply multiply);

// The threadgroup's storage of one variable: the same address in every thread of a threadgroup.
void* sm_threadgroup_storage(const sm_threadgroup_variable* variable);

// Called by a module's static initialisers while it is being loaded: copies the value set for a
// function constant and returns 1, or returns 0 when none was set (`value` is left alone).
sm_u32 sm_load_function_constant(sm_u32 index, const char* name, sm_u32 type, void* value,
                                 sm_u32 bytes);

// One message of os_log: `type` is its OS_LOG_TYPE, `text` is already formatted.
void sm_log(sm_u32 type, const char* subsystem, const char* category, const char* text);

// exec/pass puts a call of this before a kernel takes `bytes` of its stack for a large variable.
void sm_reserve_stack(sm_u64 bytes);

// ---- Checked modules only: exec/pass puts calls of these before each access.
// `base` is where the pointer came from (a buffer's first byte, for example) or null: the access
// must stay in what `base` points into. A site with line 0 is unknown.
void sm_access(const void* address, const void* base, sm_u64 bytes, sm_u32 kind, sm_site site);
// Called when an access leaves a variable of the thread or a table of the module. `object` is the
// table's name, null for a variable.
__attribute__((noreturn)) void sm_object_overrun(sm_i64 offset, sm_u64 bytes, sm_u64 object_bytes,
                                                 const char* object, sm_u32 kind, sm_site site);
}
