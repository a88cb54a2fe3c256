/* See needs.h. */
#include "codegen/target/needs.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codegen/target/target_int.h"
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

static const tc_cg_probe PROBES[] = {
#define PROBE(name, macro, bit) {name, macro, bit},
#include "codegen/target/riscv.def"
};

const tc_cg_cpuid_row *tc_cg_cpuid_rows(int *n) {
    *n = (int)TC_LEN(CPUID);
    return CPUID;
}

const tc_cg_hwcap *tc_cg_hwcaps(int *n) {
    *n = (int)TC_LEN(HWCAPS);
    return HWCAPS;
}

const tc_cg_probe *tc_cg_probes(int *n) {
    *n = (int)TC_LEN(PROBES);
    return PROBES;
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

/* What is asked for, of whom, and where the names go. */
typedef struct collection {
    const tc_target *t;
    const char *more;    /* what LLVM's code for the CPU has besides the target's features */
    const tc_cg_host *h; /* NULL: all names are printed; else those that it lacks */
    tc_cg_needs needs;
    tc_strbuf names;
} collection;

/* Whether code of the target may use it; base: a feature that it is built on, or NULL. */
static bool uses(const collection *c, const char *name, const char *base) {
    char mention = tc_cg_mention_of(c->t, name);
    return mention == '+' || (!mention && tc_cg_lists(c->more, name) && (!base || tc_cg_has_feature(c->t, base)));
}

static void print_name(collection *c, bool is_here, const char *fmt, ...) TC_PRINTF(3, 4);
static void print_name(collection *c, bool is_here, const char *fmt, ...) {
    va_list ap;
    if (c->h && is_here)
        return;
    tc_sb_add(&c->names, c->names.len ? ", " : "");
    va_start(ap, fmt);
    tc_sb_vprintf(&c->names, fmt, ap);
    va_end(ap);
}

/* "+a,-b" has a feature on. */
static bool is_told(const tc_cg_host *h, const char *name) {
    return h && tc_cg_mention_of(&(tc_target){.features = h->features}, name) == '+';
}

static void collect_x86(collection *c) {
    for (size_t i = 0; i < TC_LEN(CPUID); i++) {
        const tc_cg_cpuid_row *r = &CPUID[i];
        if (!uses(c, r->name, r->kept & YMM ? "avx" : NULL))
            continue;
        need_word(&c->needs, r->leaf, r->sub, r->reg, r->bit);
        if (r->kept & YMM)
            need_word(&c->needs, 1, 0, TC_CG_ECX, AVX_BIT);
        c->needs.kept |= r->kept;
        print_name(c, is_told(c->h, r->name), "%s", r->name);
    }
    c->needs.any = c->needs.nword > 0;
}

static void collect_arm(collection *c) {
    tc_cg_needs *n = &c->needs;
    for (size_t i = 0; i < TC_LEN(HWCAPS); i++)
        if (uses(c, HWCAPS[i].name, NULL)) {
            n->hwcap[0] |= HWCAPS[i].bits[0];
            n->hwcap[1] |= HWCAPS[i].bits[1];
            print_name(c, is_told(c->h, HWCAPS[i].name), "%s", HWCAPS[i].name);
        }
    if (tc_cg_scalable(c->t)) {
        n->vector_bytes = c->t->machine.vector_bytes;
        print_name(c, c->h && c->h->vector_bytes == n->vector_bytes, "SVE registers of exactly %d bytes", n->vector_bytes);
    }
    n->any = n->hwcap[0] || n->hwcap[1];
}

/* Of vector registers: "zvl512b" says at least 64. */
static int promised_bytes(const collection *c) {
    int most = c->t->machine.vector_bytes;
    for (int bytes = 16; bytes <= 128; bytes *= 2) {
        char name[16];
        snprintf(name, sizeof name, "zvl%db", 8 * bytes);
        if (uses(c, name, NULL))
            most = TC_MAX(most, bytes);
    }
    return most;
}

static void collect_riscv(collection *c) {
    tc_cg_needs *n = &c->needs;
    for (const char *l = LETTERS; *l; l++) {
        char name[2] = {*l, 0};
        uint64_t bit = (uint64_t)1 << (*l - 'a');
        if (!uses(c, name, NULL))
            continue;
        n->hwcap[0] |= bit;
        print_name(c, c->h && (c->h->letters & bit), "%s", name);
    }
    for (size_t i = 0; i < TC_LEN(PROBES); i++) {
        uint64_t bit = (uint64_t)1 << PROBES[i].bit;
        if (!uses(c, PROBES[i].name, NULL))
            continue;
        n->probe |= bit;
        print_name(c, c->h && (c->h->probed & bit), "%s", PROBES[i].name);
    }
    if (tc_cg_has_feature(c->t, "v")) {
        n->vector_bytes = promised_bytes(c);
        print_name(c, c->h && c->h->vector_bytes >= n->vector_bytes, "vector registers of at least %d bytes", n->vector_bytes);
    }
    n->any = n->hwcap[0] != 0 || n->probe != 0;
}

/* names are the caller's to free. */
static collection collect(const tc_target *t, const tc_cg_host *h) {
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    const tc_cg_cpu *cpu = tc_cg_cpu_named(t->cpu);
    collection c = {
        .t = t, .h = h, .more = isa && cpu && cpu->isa == isa->id ? cpu->more : "", .needs.isa = isa ? isa->id : TC_CG_NISAS};
    switch (c.needs.isa) {
    case TC_CG_X86:
        collect_x86(&c);
        break;
    case TC_CG_ARM:
        collect_arm(&c);
        break;
    case TC_CG_RISCV:
        collect_riscv(&c);
        break;
    case TC_CG_NISAS:
        break;
    }
    return c;
}

tc_cg_needs tc_cg_needs_of(const tc_target *t) {
    collection c = collect(t, NULL);
    tc_strbuf_free(&c.names);
    return c.needs;
}

void tc_cg_print_needs(const tc_target *t, tc_strbuf *b) {
    tc_cg_print_lacks(t, NULL, b);
}

void tc_cg_print_lacks(const tc_target *t, const tc_cg_host *h, tc_strbuf *b) {
    collection c = collect(t, h);
    tc_sb_add(b, tc_sb_str(&c.names));
    tc_strbuf_free(&c.names);
}

void tc_cg_print_lacking_here(const tc_target *t, tc_strbuf *b) {
    tc_cg_print_lacks(t, tc_cg_this_host(), b);
}

bool tc_cg_meets(const tc_target *t, const tc_cg_host *h) {
    collection c = collect(t, h);
    bool all = c.names.len == 0;
    tc_strbuf_free(&c.names);
    return all;
}
