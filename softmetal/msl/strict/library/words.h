// MSL's words for the C++ for OpenCL that clang checks: each address space of Metal is one of
// OpenCL's that the generic one includes, since struct copies go through generic references.
// The user's columns stay where they are: words are macros, not edits.
#pragma once

// `constant` is global memory that is const, because only a global variable may stand outside a
// function; `device` is a number because it is never declared, only pointed to.
#define device __attribute__((address_space(1)))
#define constant const __global
#define threadgroup __local
#define thread __private
#define kernel
#define coherent(space) space

// Words and types of OpenCL that are plain names in MSL.
#define global sm_word_global
#define local sm_word_local
#define generic sm_word_generic
#define pipe sm_word_pipe
#define read_only sm_word_read_only
#define write_only sm_word_write_only
#define read_write sm_word_read_write
#define event_t sm_word_event_t
#define queue_t sm_word_queue_t
#define clk_event_t sm_word_clk_event_t
#define reserve_id_t sm_word_reserve_id_t
#define sampler_t sm_word_sampler_t
#define vec_step sm_word_vec_step
#define addrspace_cast sm_word_addrspace_cast
#define memory_scope sm_word_memory_scope
#define atomic_bool sm_word_atomic_bool
#define atomic_int sm_word_atomic_int
#define atomic_uint sm_word_atomic_uint
#define atomic_long sm_word_atomic_long
#define atomic_ulong sm_word_atomic_ulong
#define atomic_float sm_word_atomic_float
#define atomic_double sm_word_atomic_double
#define atomic_flag sm_word_atomic_flag
#define atomic_intptr_t sm_word_atomic_intptr_t
#define atomic_uintptr_t sm_word_atomic_uintptr_t
#define atomic_size_t sm_word_atomic_size_t
#define atomic_ptrdiff_t sm_word_atomic_ptrdiff_t

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
