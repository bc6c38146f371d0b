# cmake -DFILE=... -DSYMBOL=... -DOUT=... -P embed_file.cmake
# Writes the assembly that minfer_embed compiles. The assembler reads FILE itself; compiler caches
# do not see that, so the checksum of FILE stands in the text and changes with it.
file(SHA256 ${FILE} checksum)
file(WRITE ${OUT} "// SHA-256 ${checksum}
#ifdef __APPLE__
#define SYMBOL(name) _##name
.section __TEXT,__const
#else
#define SYMBOL(name) name
.section .rodata
#endif
.globl SYMBOL(${SYMBOL})
.globl SYMBOL(${SYMBOL}_size)
.p2align 4
SYMBOL(${SYMBOL}):
.incbin \"${FILE}\"
.set embedded_bytes, . - SYMBOL(${SYMBOL})
.byte 0
.p2align 3
SYMBOL(${SYMBOL}_size):
.quad embedded_bytes
#ifdef __ELF__
.section .note.GNU-stack,\"\",%progbits
#endif
")
