// Leaves one stack and goes on with another: void softmetal_switch(void** save, void* load).
// Stores the stack pointer in *save and returns on the stack `load`. Only what a function
// must preserve is kept (x19-x30, the low halves of v8-v15); fpcr is the same for all fibers of a
// thread. The layout is what Fiber::prepare writes.
    .text
    .globl softmetal_switch
    .hidden softmetal_switch
    .type softmetal_switch, %function
    .p2align 4
softmetal_switch:
    .cfi_startproc
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .cfi_endproc
    .size softmetal_switch, . - softmetal_switch

// The first thing on a new stack: calls the function in x19 with the value in x20. It never returns.
    .globl softmetal_fiber_entry
    .hidden softmetal_fiber_entry
    .type softmetal_fiber_entry, %function
    .p2align 4
softmetal_fiber_entry:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, xzr
    mov x0, x20
    blr x19
    brk #1
    .cfi_endproc
    .size softmetal_fiber_entry, . - softmetal_fiber_entry

// The functions of the ABI in which a lane may wait. Between its call and its way back other lanes
// have run, and the processor predicts a return from the call that was made last. When that call
// stood at the same place (lanes in one loop), a return is predicted right; otherwise the way back
// is a jump, which is predicted from where the lanes before this one went.
    .macro last_call_address
    mrs x9, tpidr_el0
    adrp x10, :gottprel:softmetal_last_call
    ldr x10, [x10, :gottprel_lo12:softmetal_last_call]
    add x9, x9, x10
    .endm

    .macro waiting_function name, target
    .globl \name
    .type \name, %function
    .p2align 4
\name:
    .cfi_startproc
    last_call_address
    str x30, [x9]
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    bl \target
    ldp x29, x30, [sp], #16
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    last_call_address
    ldr x11, [x9]
    cmp x11, x30
    b.ne 1f
    ret
1:  br x30
    .cfi_endproc
    .size \name, . - \name
    .endm

    .section .tbss, "awT", %nobits
    .p2align 3
    .type softmetal_last_call, %object
    .size softmetal_last_call, 8
softmetal_last_call:
    .zero 8
    .text

    waiting_function sm_threadgroup_barrier, softmetal_threadgroup_barrier
    waiting_function sm_simdgroup_barrier, softmetal_simdgroup_barrier
    waiting_function sm_simd_exchange, softmetal_simd_exchange
    waiting_function sm_quad_exchange, softmetal_quad_exchange
    waiting_function sm_matrix_product, softmetal_matrix_product
    waiting_function sm_matrix_products, softmetal_matrix_products

    .section .note.GNU-stack,"",%progbits
