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

    .section .note.GNU-stack,"",%progbits
