// Leaves one stack and goes on with another: void softmetal_switch(void** save, void* load).
// Stores the stack pointer in *save and returns on the stack `load`. Only what a function
// must preserve is kept; the floating-point modes are the same for all fibers of a thread, so
// mxcsr and the x87 control word stay. It must end in a return: fibers mostly leave and go on at the
// same depth in the same functions, so calls and returns that stay balanced are predicted right.
    .text
    .globl softmetal_switch
    .hidden softmetal_switch
    .type softmetal_switch, @function
    .p2align 4
softmetal_switch:
    .cfi_startproc
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
    .cfi_endproc
    .size softmetal_switch, . - softmetal_switch

// The first thing on a new stack: calls the function in rbx with the value in r12. It never returns.
    .globl softmetal_fiber_entry
    .hidden softmetal_fiber_entry
    .type softmetal_fiber_entry, @function
    .p2align 4
softmetal_fiber_entry:
    .cfi_startproc
    .cfi_undefined rip
    xorl %ebp, %ebp
    movq %r12, %rdi
    callq *%rbx
    ud2
    .cfi_endproc
    .size softmetal_fiber_entry, . - softmetal_fiber_entry

// The functions of the ABI in which a lane may wait. Between its call and its way back other lanes
// have run, and the processor predicts a return from the call that was made last. When that call
// stood at the same place (lanes in one loop), a return is predicted right; otherwise the way back
// is a jump, which is predicted from where the lanes before this one went.
    .macro waiting_function name, target
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    movq softmetal_last_call@gottpoff(%rip), %rax
    movq (%rsp), %r11
    movq %r11, %fs:(%rax)
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    callq \target
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    movq softmetal_last_call@gottpoff(%rip), %rcx
    movq (%rsp), %r11
    cmpq %r11, %fs:(%rcx)
    jne 1f
    retq
1:  addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, r11
    jmpq *%r11
    .cfi_endproc
    .size \name, . - \name
    .endm

    .section .tbss, "awT", @nobits
    .p2align 3
    .type softmetal_last_call, @object
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

    .section .note.GNU-stack,"",@progbits
