#include "amx_trap.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cpuid.h>

#include "te/intrinsic.h"
#include "x86_decode.h"

/* ---- the CPU ---- */

bool amx_native(void) {
    enum { LEAF = 7, TILE_BIT = 24, XSAVE_BIT = 27, TILE_STATE = 3 << 17, REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid_count(LEAF, 0, &a, &b, &c, &d) || !(d >> TILE_BIT & 1))
        return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> XSAVE_BIT & 1))
        return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & TILE_STATE) == TILE_STATE && syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) == 0;
}

/* ---- tiles of a thread ---- */

typedef struct tile {
    int rows, bytes; /* of a row */
    uint8_t data[TC_TILE_ROWS][TC_TILE_BYTES];
} tile;

static _Thread_local struct {
    bool configured;
    uint8_t config[64];
    tile t[TC_TILES];
} state;

static int64_t count;

static void die(const char *what, const uint8_t *at) {
    fprintf(stderr, "tile instruction");
    for (int i = 0; at && i < 9; i++)
        fprintf(stderr, " %02x", at[i]);
    fprintf(stderr, ": %s\n", what);
    abort();
}

/* ---- decoding ---- */

/* VEX.128.prefix.0F38.W0 opcode /r */
typedef struct instruction {
    const uint8_t *begin, *end;
    x86_prefix prefix;
    int opcode, mod, reg, rm, vvvv;
    uint8_t *address; /* of memory operands */
    int64_t stride;
} instruction;

/* base + displacement, with the index register, times its scale, as the distance between rows. */
static void decode_memory(instruction *x, const ucontext_t *u, int x_bit, int b_bit) {
    int base = x->rm;
    x->stride = 0;
    if (x->rm == 4) {
        int sib = *x->end++, index = (sib >> 3 & 7) | x_bit << 3;
        base = sib & 7;
        if (index != 4)
            x->stride = x86_gpr(u, index) * (1 << (sib >> 6));
    }
    int64_t at = 0;
    if (base == 5 && x->mod == 0 && x->rm == 5)
        at = x86_displacement(&x->end, 4) + (int64_t)(uintptr_t)x->end; /* from the next instruction */
    else if (base == 5 && x->mod == 0)
        at = x86_displacement(&x->end, 4);
    else
        at = x86_gpr(u, base | b_bit << 3) + (x->mod == 1   ? x86_displacement(&x->end, 1)
                                              : x->mod == 2 ? x86_displacement(&x->end, 4)
                                                            : 0);
    x->address = (uint8_t *)(uintptr_t)at;
}

static bool decode(instruction *x, const ucontext_t *u) {
    const uint8_t *p = (const uint8_t *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    enum { MAP_0F38 = 2 };
    bool wide = p[2] >> 7, is_256 = p[2] >> 2 & 1;
    *x = (instruction){.begin = p, .prefix = (x86_prefix)(p[2] & 3), .vvvv = ~(p[2] >> 3) & 15, .opcode = p[3], .end = p + 5};
    if (p[0] != 0xc4 || (p[1] & 31) != MAP_0F38 || wide || is_256)
        return false;
    x->mod = p[4] >> 6;
    x->reg = p[4] >> 3 & 7;
    x->rm = p[4] & 7;
    if (x->mod != 3)
        decode_memory(x, u, !(p[1] >> 6 & 1), !(p[1] >> 5 & 1));
    return true;
}

/* ---- carrying out ---- */

static void release(void) {
    memset(&state, 0, sizeof state);
}

/* Palette 1: bytes of a row from byte 16 on, rows from byte 48 on. */
static void load_config(const instruction *x) {
    uint8_t c[64];
    memcpy(c, x->address, sizeof c);
    release();
    if (c[0] == 0)
        return;
    if (c[0] != 1 || c[1] != 0)
        die("this palette or start row is not known", x->begin);
    for (int i = 0; i < TC_TILES; i++) {
        state.t[i].bytes = c[16 + 2 * i] | c[17 + 2 * i] << 8;
        state.t[i].rows = c[48 + i];
        if (state.t[i].bytes > TC_TILE_BYTES || state.t[i].rows > TC_TILE_ROWS || !state.t[i].bytes != !state.t[i].rows)
            die("a tile is configured larger than a register, or in one direction only", x->begin);
    }
    memcpy(state.config, c, sizeof c);
    state.configured = true;
}

static tile *tile_of(const instruction *x, int n) {
    if (n >= TC_TILES || !state.configured || !state.t[n].rows)
        die("the tile is not configured", x->begin);
    return &state.t[n];
}

static void load_tile(const instruction *x) {
    tile *t = tile_of(x, x->reg);
    memset(t->data, 0, sizeof t->data);
    for (int i = 0; i < t->rows; i++)
        memcpy(t->data[i], x->address + i * x->stride, (size_t)t->bytes);
}

static void store_tile(const instruction *x) {
    const tile *t = tile_of(x, x->reg);
    for (int i = 0; i < t->rows; i++)
        memcpy(x->address + i * x->stride, t->data[i], (size_t)t->bytes);
}

static void multiply(const instruction *x, const char *unit) {
    const tc_intrinsic *row = tc_intrinsic_named(unit);
    tile *acc = tile_of(x, x->reg);
    const tile *a = tile_of(x, x->rm), *b = tile_of(x, x->vvvv);
    if (x->reg == x->rm || x->reg == x->vvvv || x->rm == x->vvvv)
        die("an operand stands twice", x->begin);
    if (acc->rows != a->rows || acc->bytes != b->bytes || a->bytes != 4 * b->rows || acc->bytes % 4)
        die("the tiles' shapes do not fit each other", x->begin);
    tc_unit_call c = {.m = acc->rows,
                      .n = acc->bytes / 4,
                      .k = b->rows * row->group,
                      .acc = acc->data,
                      .a = a->data,
                      .b = b->data,
                      .acc_stride = TC_TILE_BYTES / tc_dtype_bytes(row->acc),
                      .a_stride = TC_TILE_BYTES / tc_dtype_bytes(row->a),
                      .b_stride = TC_TILE_BYTES / tc_dtype_bytes(row->b)};
    tc_intrinsic_run(row, &c);
    for (int i = 0; i < TC_TILE_ROWS; i++) /* whatever was there beyond it */
        memset(acc->data[i] + (i < acc->rows ? acc->bytes : 0), 0, (size_t)(TC_TILE_BYTES - (i < acc->rows ? acc->bytes : 0)));
}

static bool carry_out(const instruction *x) {
    static const char *const BYTES[] = {[P_NONE] = "amx_u8u8", [P_66] = "amx_u8s8", [P_F3] = "amx_s8u8", [P_F2] = "amx_s8s8"};
    bool memory = x->mod != 3;
    switch (x->opcode) {
    case 0x49:
        if (memory && x->prefix == P_NONE && x->reg == 0)
            load_config(x);
        else if (memory && x->prefix == P_66 && x->reg == 0)
            memcpy(x->address, state.config, sizeof state.config);
        else if (!memory && x->prefix == P_NONE && x->reg == 0 && x->rm == 0)
            release();
        else if (!memory && x->prefix == P_F2 && x->rm == 0)
            memset(tile_of(x, x->reg)->data, 0, sizeof state.t[0].data);
        else
            return false;
        return true;
    case 0x4b:
        if (memory && x->rm == 4 && (x->prefix == P_F2 || x->prefix == P_66))
            load_tile(x);
        else if (memory && x->rm == 4 && x->prefix == P_F3)
            store_tile(x);
        else
            return false;
        return true;
    case 0x5c:
        if (memory || (x->prefix != P_F3 && x->prefix != P_F2))
            return false;
        multiply(x, x->prefix == P_F3 ? "amx_bf16" : "amx_f16");
        return true;
    case 0x5e:
        if (memory)
            return false;
        multiply(x, BYTES[x->prefix]);
        return true;
    }
    return false;
}

static void on_illegal(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number, (void)info;
    ucontext_t *u = context;
    instruction x;
    if (!decode(&x, u) || !carry_out(&x))
        die("no tile instruction", x.begin);
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)x.end;
}

void amx_trap_install(void) {
    struct sigaction a = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&a.sa_mask);
    sigaction(SIGILL, &a, NULL);
}

int64_t amx_trap_count(void) {
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

bool amx_trap_configured(void) {
    return state.configured;
}
