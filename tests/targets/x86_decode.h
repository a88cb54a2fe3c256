/* What the handlers of instructions that the CPU lacks share of decoding x86-64. */
#ifndef TC_TESTS_X86_DECODE_H
#define TC_TESTS_X86_DECODE_H

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* Which prefix VEX and EVEX stand for. */
typedef enum x86_prefix { P_NONE, P_66, P_F3, P_F2 } x86_prefix;

/* A general register by its number in instructions. */
static inline int64_t x86_gpr(const ucontext_t *u, int n) {
    static const int WHERE[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return u->uc_mcontext.gregs[WHERE[n]];
}

/* Reads a displacement of 1 or 4 bytes, and goes on behind it. */
static inline int64_t x86_displacement(const uint8_t **at, int bytes) {
    int32_t wide = 0;
    int8_t narrow = 0;
    memcpy(bytes == 1 ? (void *)&narrow : (void *)&wide, *at, (size_t)bytes);
    *at += bytes;
    return bytes == 1 ? narrow : wide;
}

#endif
