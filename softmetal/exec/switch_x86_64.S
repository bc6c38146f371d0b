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

    .section .note.GNU-stack,"",@progbits
