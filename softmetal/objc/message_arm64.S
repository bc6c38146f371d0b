// Sending a message on arm64: find the receiver's method and jump to it with every argument register
// as the caller left it. x9, x10, x16 and x17 carry nothing between a caller and a function. x8, the
// address of a large result, is passed on, so there is no _stret here. Offsets are checked against
// class.h in class.cpp.

#define CLASS_BUCKETS 16  // the mask is the word after it

        .text
        .globl  objc_msgSend
        .type   objc_msgSend, %function
        .p2align 6
objc_msgSend:
        .cfi_startproc
        cbz     x0, nil_result
        ldr     x16, [x0]                       // the class
        ldp     x17, x9, [x16, #CLASS_BUCKETS]  // its buckets and their mask
        and     x9, x9, x1
        add     x17, x17, x9                    // the first bucket to look at
1:      ldp     x9, x10, [x17], #16
        cmp     x9, x1
        b.ne    2f
        br      x10
2:      cbnz    x9, 1b
        stp     x29, x30, [sp, #-16]!           // no such method: does not come back
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov     x29, sp
        bl      softmetal_objc_no_method
        brk     #1
        .cfi_endproc
        .size   objc_msgSend, . - objc_msgSend

// Messages to nil answer zero, in whichever register the caller looks.
        .p2align 4
nil_result:
        mov     x0, xzr
        mov     x1, xzr
        movi    d0, #0
        movi    d1, #0
        movi    d2, #0
        movi    d3, #0
        ret

        .section .note.GNU-stack, "", %progbits
