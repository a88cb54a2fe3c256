/* See needs.h. */
#include "codegen/target/needs.h"

#include <assert.h>
#include <string.h>

#include "support/vec.h"

/* ---- the tables ---- */

enum { NOTHING = 0, YMM = 6, ZMM = 0xe6, TILES = 3 << 17, AVX_BIT = 28 }; /* of XCR0; of leaf 1 in ECX */

static const tc_cg_cpuid_row CPUID[] = {
#define FEATURE(name, leaf, sub, reg, bit, keeps) {name, leaf, sub, TC_CG_##reg, bit, keeps},
#include "codegen/target/cpuid.def"
};

/* Bit `at` of word `w`, as a mask. */
#define BIT(at, w) ((at) >= 0 && (at) / 64 == (w) ? (uint64_t)1 << ((at)&63) : 0)
#define BITS(a, b, c, d, w) (BIT(a, w) | BIT(b, w) | BIT(c, w) | BIT(d, w))
static const tc_cg_hwcap HWCAPS[] = {
#define HWCAP(name, macro, a, b, c, d) {name, macro, {BITS(a, b, c, d, 0), BITS(a, b, c, d, 1)}},
#include "codegen/target/hwcap.def"
};

const tc_cg_cpuid_row *tc_cg_cpuid_rows(int *n) {
    *n = (int)TC_LEN(CPUID);
    return CPUID;
}

const tc_cg_hwcap *tc_cg_hwcaps(int *n) {
    *n = (int)TC_LEN(HWCAPS);
    return HWCAPS;
}

/* ---- of a target ---- */

static void need_word(tc_cg_needs *n, uint32_t leaf, uint32_t sub, tc_cg_cpuid_reg reg, int bit) {
    int i = 0;
    while (i < n->nword && (n->word[i].leaf != leaf || n->word[i].sub != sub || n->word[i].reg != reg))
        i++;
    assert(i < TC_CG_CPUID_WORDS);
    if (i == n->nword)
        n->word[n->nword++] = (tc_cg_cpuid_word){leaf, sub, reg, 0};
    n->word[i].bits |= (uint32_t)1 << bit;
}

/* Letters of RISC-V's extensions that have a bit in AT_HWCAP. */
static const char LETTERS[] = "mafdcv";

static void print_name(tc_strbuf *b, const char *name) {
    if (b)
        tc_sb_printf(b, "%s%s", b->len ? ", " : "", name);
}

static void collect_x86(const tc_target *t, tc_cg_needs *n, tc_strbuf *b) {
    for (size_t i = 0; i < TC_LEN(CPUID); i++) {
        const tc_cg_cpuid_row *r = &CPUID[i];
        if (!tc_cg_has_feature(t, r->name))
            continue;
        need_word(n, r->leaf, r->sub, r->reg, r->bit);
        if (r->kept & YMM)
            need_word(n, 1, 0, TC_CG_ECX, AVX_BIT);
        n->kept |= r->kept;
        print_name(b, r->name);
    }
    n->any = n->nword > 0;
}

static void collect_arm(const tc_target *t, tc_cg_needs *n, tc_strbuf *b) {
    for (size_t i = 0; i < TC_LEN(HWCAPS); i++)
        if (tc_cg_has_feature(t, HWCAPS[i].name)) {
            n->hwcap[0] |= HWCAPS[i].bits[0];
            n->hwcap[1] |= HWCAPS[i].bits[1];
            print_name(b, HWCAPS[i].name);
        }
    if (tc_cg_scalable(t)) {
        n->vector_bytes = t->machine.vector_bytes;
        if (b)
            tc_sb_printf(b, "%sSVE registers of exactly %d bytes", b->len ? ", " : "", n->vector_bytes);
    }
    n->any = n->hwcap[0] || n->hwcap[1];
}

static void collect_riscv(const tc_target *t, tc_cg_needs *n, tc_strbuf *b) {
    for (const char *c = LETTERS; *c; c++) {
        char name[2] = {*c, 0};
        if (!tc_cg_has_feature(t, name))
            continue;
        n->hwcap[0] |= (uint64_t)1 << (*c - 'a');
        print_name(b, name);
    }
    if (tc_cg_has_feature(t, "v")) {
        n->vector_bytes = t->machine.vector_bytes;
        if (b)
            tc_sb_printf(b, ", vector registers of at least %d bytes", n->vector_bytes);
    }
    n->any = n->hwcap[0] != 0;
}

static tc_cg_needs collect(const tc_target *t, tc_strbuf *b) {
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    tc_cg_needs n = {.isa = isa ? isa->id : TC_CG_NISAS};
    switch (n.isa) {
    case TC_CG_X86:
        collect_x86(t, &n, b);
        break;
    case TC_CG_ARM:
        collect_arm(t, &n, b);
        break;
    case TC_CG_RISCV:
        collect_riscv(t, &n, b);
        break;
    case TC_CG_NISAS:
        break;
    }
    return n;
}

tc_cg_needs tc_cg_needs_of(const tc_target *t) {
    return collect(t, NULL);
}

void tc_cg_print_needs(const tc_target *t, tc_strbuf *b) {
    tc_strbuf names = {0};
    (void)collect(t, &names);
    tc_sb_add(b, tc_sb_str(&names));
    tc_strbuf_free(&names);
}
