#include "vector_trap.h"
#include "x86_decode.h"

#include <cpuid.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { VECTOR = 64, HALF = 32, QUARTER = 16 };

static int64_t count;

static void die(const char *what, const uint8_t *at) {
    fprintf(stderr, "illegal instruction");
    for (int i = 0; i < 12; i++)
        fprintf(stderr, " %02x", at[i]);
    fprintf(stderr, ": %s\n", what);
    abort();
}

/* ---- registers ---- */

/* The area that XSAVE filled and XRSTOR will read. A part whose bit in the header is clear holds the initial values, zeros,
 * whatever stands there. */
typedef struct area {
    uint8_t *at;
    uint64_t has;
    const uint8_t *code; /* for messages */
} area;

typedef enum part { PART_SSE = 1, PART_AVX = 2, PART_MASKS = 5, PART_ZMM_HIGH = 6, PART_ZMM_16 = 7 } part;

enum { SSE_AT = 160, SSE_BYTES = 256, SOFTWARE_AT = 464, HEADER_AT = 512, MAGIC = 0x46505853 };

static area area_of(const ucontext_t *u, const uint8_t *code) {
    area a = {.at = (uint8_t *)u->uc_mcontext.fpregs, .code = code};
    uint32_t magic;
    memcpy(&magic, a.at + SOFTWARE_AT, sizeof magic);
    if (magic != MAGIC)
        die("the system does not show the registers of vectors", code);
    memcpy(&a.has, a.at + SOFTWARE_AT + 8, sizeof a.has);
    return a;
}

/* Where a part lies, and its length; NULL: the system does not keep it. */
static uint8_t *find_part(const area *a, part p, unsigned *bytes) {
    unsigned at = SSE_AT, c, d;
    *bytes = SSE_BYTES;
    if (!(a->has >> p & 1))
        return NULL;
    if (p != PART_SSE && !__get_cpuid_count(0xd, p, bytes, &at, &c, &d))
        return NULL;
    return a->at + at;
}

static bool in_use(const area *a, part p) {
    uint64_t used;
    memcpy(&used, a->at + HEADER_AT, sizeof used);
    return used >> p & 1;
}

static void read_part(const area *a, part p, int at, int n, uint8_t *out) {
    unsigned bytes;
    const uint8_t *from = find_part(a, p, &bytes);
    if (from && in_use(a, p))
        memcpy(out, from + at, (size_t)n);
    else
        memset(out, 0, (size_t)n);
}

static void write_part(const area *a, part p, int at, int n, const uint8_t *in) {
    static const uint8_t ZERO[VECTOR];
    unsigned bytes;
    uint64_t used;
    uint8_t *to = find_part(a, p, &bytes);
    if (!to && memcmp(in, ZERO, (size_t)n) != 0)
        die("the system does not keep the registers that it writes to", a->code);
    if (!to)
        return;
    if (!in_use(a, p)) {
        memset(to, 0, bytes);
        memcpy(&used, a->at + HEADER_AT, sizeof used);
        used |= (uint64_t)1 << p;
        memcpy(a->at + HEADER_AT, &used, sizeof used);
    }
    memcpy(to + at, in, (size_t)n);
}

static void read_register(const area *a, int n, uint8_t out[VECTOR]) {
    if (n >= 16) {
        read_part(a, PART_ZMM_16, (n - 16) * VECTOR, VECTOR, out);
        return;
    }
    read_part(a, PART_SSE, n * QUARTER, QUARTER, out);
    read_part(a, PART_AVX, n * QUARTER, QUARTER, out + QUARTER);
    read_part(a, PART_ZMM_HIGH, n * HALF, HALF, out + HALF);
}

static void write_register(const area *a, int n, const uint8_t in[VECTOR]) {
    if (n >= 16) {
        write_part(a, PART_ZMM_16, (n - 16) * VECTOR, VECTOR, in);
        return;
    }
    write_part(a, PART_SSE, n * QUARTER, QUARTER, in);
    write_part(a, PART_AVX, n * QUARTER, QUARTER, in + QUARTER);
    write_part(a, PART_ZMM_HIGH, n * HALF, HALF, in + HALF);
}

static uint64_t read_mask(const area *a, int n) {
    uint64_t v = ~(uint64_t)0;
    if (n != 0)
        read_part(a, PART_MASKS, n * (int)sizeof v, sizeof v, (uint8_t *)&v);
    return v;
}

/* ---- decoding ---- */

/* VEX or EVEX, map 0F38, W0, opcode, ModRM and what it asks for. */
typedef struct instruction {
    const uint8_t *begin, *end;
    bool evex, memory, one, zero; /* one: element for all lanes; zero: lanes that the mask leaves out */
    x86_prefix prefix;
    int opcode, bytes, to, first, second, mask; /* registers; bytes of a vector */
    const uint8_t *address;                     /* of the second operand in memory */
} instruction;

/* EVEX counts short displacements in operands. */
static void decode_memory(instruction *x, const ucontext_t *u, uint8_t modrm, bool more_index, bool more_base) {
    int mod = modrm >> 6, base = modrm & 7, low = base;
    int64_t at = 0, unit = !x->evex ? 1 : x->one ? 4 : x->bytes;
    if (low == 4) {
        int sib = *x->end++, index = (sib >> 3 & 7) | more_index << 3;
        base = sib & 7;
        at = index == 4 ? 0 : x86_gpr(u, index) * (1 << (sib >> 6));
    }
    if (base == 5 && mod == 0) {
        at += x86_displacement(&x->end, 4);
        at += low == 5 ? (int64_t)(uintptr_t)x->end : 0; /* from the next instruction */
    } else {
        at += x86_gpr(u, base | more_base << 3) + (mod == 1   ? unit * x86_displacement(&x->end, 1)
                                                   : mod == 2 ? x86_displacement(&x->end, 4)
                                                              : 0);
    }
    x->address = (const uint8_t *)(uintptr_t)at;
}

/* The three or four bytes of the prefix, whose bits that extend registers are inverted. */
static bool decode(instruction *x, const ucontext_t *u) {
    enum { MAP_0F38 = 2, VEX = 0xc4, EVEX = 0x62 };
    const uint8_t *p = (const uint8_t *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    *x = (instruction){.begin = p, .evex = p[0] == EVEX};
    if (p[0] != VEX && !x->evex)
        return false;
    bool r = !(p[1] >> 7 & 1), i = !(p[1] >> 6 & 1), b = !(p[1] >> 5 & 1);
    int map = x->evex ? p[1] & 15 : p[1] & 31, length = x->evex ? p[3] >> 5 & 3 : p[2] >> 2 & 1;
    if (map != MAP_0F38 || p[2] >> 7 || length > 2 || (x->evex && !(p[2] >> 2 & 1)))
        return false;
    const uint8_t *rest = p + (x->evex ? 4 : 3);
    x->prefix = (x86_prefix)(p[2] & 3);
    x->bytes = QUARTER << length;
    x->first = ~(p[2] >> 3) & 15;
    x->opcode = rest[0];
    x->end = rest + 2;
    x->to = (rest[1] >> 3 & 7) | r << 3;
    x->memory = rest[1] >> 6 != 3;
    if (x->evex) {
        x->to |= !(p[1] >> 4 & 1) << 4;
        x->first |= !(p[3] >> 3 & 1) << 4;
        x->mask = p[3] & 7;
        x->zero = p[3] >> 7;
        x->one = p[3] >> 4 & 1;
    }
    if (x->memory)
        decode_memory(x, u, rest[1], i, b);
    else
        x->second = (rest[1] & 7) | b << 3 | (x->evex && i) << 4;
    return x->memory || !x->one; /* of registers it would be a rounding mode */
}

/* ---- carrying out ---- */

/* Sums of four products each, which wrap. */
static uint32_t add_bytes(uint32_t acc, const uint8_t *a, const uint8_t *b, bool a_signed, bool b_signed) {
    for (int p = 0; p < 4; p++)
        acc += (uint32_t)((a_signed ? (int8_t)a[p] : a[p]) * (b_signed ? (int8_t)b[p] : b[p]));
    return acc;
}

/* The same of two words. */
static uint32_t add_words(uint32_t acc, const uint8_t *a, const uint8_t *b) {
    int16_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return acc + (uint32_t)(x[0] * y[0]) + (uint32_t)(x[1] * y[1]);
}

/* Below the smallest normal number: zero with its sign. */
static float flushed(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float bf16_at(const uint8_t *p) {
    uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
    float f;
    memcpy(&f, &bits, sizeof f);
    return flushed(f);
}

/* The product of the second elements first. Denormals count as zero, and sums are rounded to nearest, whatever MXCSR says. */
static uint32_t add_bf16(uint32_t acc, const uint8_t *a, const uint8_t *b) {
    float f;
    memcpy(&f, &acc, sizeof f);
    for (int p = 1; p >= 0; p--)
        f = flushed(fmaf(bf16_at(a + 2 * p), bf16_at(b + 2 * p), flushed(f)));
    memcpy(&acc, &f, sizeof f);
    return acc;
}

static bool is_known(const instruction *x) {
    bool bytes = x->opcode == 0x50 && (!x->evex || x->prefix == P_66);
    return bytes || (x->opcode == 0x52 && (x->prefix == P_66 || (x->evex && x->prefix == P_F3)));
}

static uint32_t lane(const instruction *x, uint32_t acc, const uint8_t *a, const uint8_t *b) {
    if (x->opcode == 0x52)
        return x->prefix == P_66 ? add_words(acc, a, b) : add_bf16(acc, a, b);
    return add_bytes(acc, a, b, x->prefix == P_F2 || x->prefix == P_F3, x->prefix == P_66 || x->prefix == P_F2);
}

static void carry_out(const instruction *x, const ucontext_t *u) {
    area regs = area_of(u, x->begin);
    uint8_t acc[VECTOR], a[VECTOR], b[VECTOR], out[VECTOR] = {0};
    uint64_t mask = read_mask(&regs, x->mask);
    read_register(&regs, x->to, acc);
    read_register(&regs, x->first, a);
    if (!x->memory)
        read_register(&regs, x->second, b);
    for (int i = 0; i < x->bytes / 4; i++) {
        bool on = mask >> i & 1;
        uint32_t v;
        if (x->memory && on) /* lanes that are left out are not read */
            memcpy(b + 4 * i, x->address + (x->one ? 0 : 4 * i), 4);
        memcpy(&v, acc + 4 * i, 4);
        v = on ? lane(x, v, a + 4 * i, b + 4 * i) : x->zero ? 0 : v;
        memcpy(out + 4 * i, &v, 4);
    }
    write_register(&regs, x->to, out); /* what is beyond the vector becomes zero */
}

static void on_illegal(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number, (void)info;
    ucontext_t *u = context;
    instruction x;
    if (!decode(&x, u) || !is_known(&x))
        die("it is no dot product of vectors that the handler knows", x.begin);
    carry_out(&x, u);
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)x.end;
}

void vector_trap_install(void) {
    struct sigaction a = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&a.sa_mask);
    sigaction(SIGILL, &a, NULL);
}

int64_t vector_trap_count(void) {
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
