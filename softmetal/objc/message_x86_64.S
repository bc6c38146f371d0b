// Sending a message on x86-64: find the receiver's method and jump to it with every argument register
// as the caller left it. Only r10 and r11 are touched, which no C call passes anything in, so nothing
// needs saving. Offsets are checked against class.h in class.cpp.

#define CLASS_BUCKETS 16
#define CLASS_BUCKET_MASK 24

        .text

// send NAME, receiver, selector, where to go with nil
.macro send name, receiver, selector, nil
        .globl  \name
        .type   \name, @function
        .p2align 6
\name:
        .cfi_startproc
        testq   \receiver, \receiver
        je      \nil
        movq    (\receiver), %r11                       // the class
        movq    CLASS_BUCKET_MASK(%r11), %r10
        andq    \selector, %r10
        addq    CLASS_BUCKETS(%r11), %r10               // the first bucket to look at
        movq    (%r10), %r11
        cmpq    \selector, %r11
        jne     2f
1:      jmpq    *8(%r10)
2:      testq   %r11, %r11
        je      3f
        addq    $16, %r10
        movq    (%r10), %r11
        cmpq    \selector, %r11
        je      1b
        jmp     2b
3:      pushq   %rbp                                    // no such method: does not come back
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        andq    $-16, %rsp
        movq    \receiver, %rdi
        movq    \selector, %rsi
        callq   softmetal_objc_no_method
        ud2
        .cfi_endproc
        .size   \name, . - \name
.endm

// Messages to nil answer zero, in whichever register the caller looks. The result memory of _stret stays
// as it is; its address is the result.
        .p2align 4
nil_result:
        xorl    %eax, %eax
        xorl    %edx, %edx
        xorps   %xmm0, %xmm0
        xorps   %xmm1, %xmm1
        retq
        .p2align 4
nil_stret:
        movq    %rdi, %rax
        retq

        send    objc_msgSend, %rdi, %rsi, nil_result
        send    objc_msgSend_fpret, %rdi, %rsi, nil_result
        send    objc_msgSend_stret, %rsi, %rdx, nil_stret

        .section .note.GNU-stack, "", @progbits
