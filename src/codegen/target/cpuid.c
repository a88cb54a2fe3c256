/* This machine's processor by itself, where it is one of x86: see cpuid.def. */
#include <string.h>

#include "codegen/target/needs.h"
#include "codegen/target/target_int.h"
#include "support/vec.h"

#ifdef __x86_64__
#include <cpuid.h>

typedef enum vendor { INTEL, AMD } vendor;

typedef struct answer {
    uint32_t reg[4];
} answer;

static const struct {
    vendor vendor;
    uint32_t family, first, last;
    const char *has, *name;
} HOSTS[] = {
#define HOST(vendor, family, first, last, has, name) {vendor, family, first, last, has, name},
#include "codegen/target/cpuid.def"
};

static answer ask_leaf(uint32_t leaf, uint32_t sub) {
    answer a = {{0}};
    __cpuid_count(leaf, sub, a.reg[TC_CG_EAX], a.reg[TC_CG_EBX], a.reg[TC_CG_ECX], a.reg[TC_CG_EDX]);
    return a;
}

/* Leaves that there are not answer with those of another. */
static answer ask(uint32_t leaf, uint32_t sub) {
    const uint32_t last = ask_leaf(leaf & 0x80000000, 0).reg[TC_CG_EAX];
    const bool is = last >= leaf && (sub == 0 || ask_leaf(leaf, 0).reg[TC_CG_EAX] >= sub);
    return is ? ask_leaf(leaf, sub) : (answer){{0}};
}

/* Which registers the system keeps for each thread, as bits of XCR0. */
static uint32_t kept_registers(void) {
    enum { OSXSAVE = 27 };
    uint32_t low = 0, high;
    if (ask(1, 0).reg[TC_CG_ECX] >> OSXSAVE & 1)
        __asm__ volatile(".byte 0x0f, 0x01, 0xd0" /* xgetbv */ : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Without AVX there is nothing that AVX-512 adds to. */
static bool keeps_enough(uint32_t wanted) {
    enum { YMM = 6, AVX_BIT = 28 };
    return (kept_registers() & wanted) == wanted && (!(wanted & YMM) || ask(1, 0).reg[TC_CG_ECX] >> AVX_BIT & 1);
}

static bool has_row(const tc_cg_cpuid_row *r) {
    return ask(r->leaf, r->sub).reg[r->reg] >> r->bit & 1 && keeps_enough(r->kept);
}

static bool has(const char *name) {
    int n;
    const tc_cg_cpuid_row *rows = tc_cg_cpuid_rows(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name))
            return has_row(&rows[i]);
    return false;
}

void tc_cg_cpuid_features(tc_strbuf *b) {
    int n;
    const tc_cg_cpuid_row *rows = tc_cg_cpuid_rows(&n);
    for (int i = 0; i < n; i++)
        tc_sb_printf(b, "%s%c%s", b->len ? "," : "", has_row(&rows[i]) ? '+' : '-', rows[i].name);
}

static bool read_vendor(vendor *v) {
    const answer a = ask_leaf(0, 0);
    char text[13] = "";
    memcpy(text, &a.reg[TC_CG_EBX], 4);
    memcpy(text + 4, &a.reg[TC_CG_EDX], 4);
    memcpy(text + 8, &a.reg[TC_CG_ECX], 4);
    *v = strcmp(text, "AuthenticAMD") ? INTEL : AMD;
    return *v == AMD || !strcmp(text, "GenuineIntel");
}

const char *tc_cg_cpuid_name(void) {
    vendor v;
    const uint32_t a = ask(1, 0).reg[TC_CG_EAX];
    uint32_t family = a >> 8 & 0xf, model = a >> 4 & 0xf;
    if (family == 6 || family == 0xf)
        model |= a >> 12 & 0xf0;
    if (family == 0xf)
        family += a >> 20 & 0xff;
    for (size_t i = 0; read_vendor(&v) && i < TC_LEN(HOSTS); i++)
        if (HOSTS[i].vendor == v && HOSTS[i].family == family && model >= HOSTS[i].first && model <= HOSTS[i].last &&
            (!HOSTS[i].has || has(HOSTS[i].has)))
            return HOSTS[i].name;
    return NULL;
}
#else
void tc_cg_cpuid_features(tc_strbuf *b) {
    (void)b;
}

const char *tc_cg_cpuid_name(void) {
    return NULL;
}
#endif
