/* This machine's processor by itself, where it is one of x86: see cpuid.def. */
#include <string.h>

#include "codegen/target/target_int.h"
#include "support/vec.h"

#ifdef __x86_64__
#include <cpuid.h>

typedef enum reg { EAX, EBX, ECX, EDX } reg;
typedef enum keeps { NOTHING, YMM, ZMM, TILES } keeps;
typedef enum vendor { INTEL, AMD } vendor;

typedef struct answer {
    uint32_t reg[4];
} answer;

static const struct {
    const char *name;
    uint32_t leaf, sub;
    reg reg;
    int bit;
    keeps keeps;
} FEATURES[] = {
#define FEATURE(name, leaf, sub, reg, bit, keeps) {name, leaf, sub, reg, bit, keeps},
#include "codegen/target/cpuid.def"
};

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
    __cpuid_count(leaf, sub, a.reg[EAX], a.reg[EBX], a.reg[ECX], a.reg[EDX]);
    return a;
}

/* Leaves that there are not answer with those of another. */
static answer ask(uint32_t leaf, uint32_t sub) {
    const uint32_t last = ask_leaf(leaf & 0x80000000, 0).reg[EAX];
    const bool is = last >= leaf && (sub == 0 || ask_leaf(leaf, 0).reg[EAX] >= sub);
    return is ? ask_leaf(leaf, sub) : (answer){{0}};
}

/* Which registers the system keeps for each thread, as bits of XCR0. */
static uint32_t kept_registers(void) {
    enum { OSXSAVE = 27 };
    uint32_t low = 0, high;
    if (ask(1, 0).reg[ECX] >> OSXSAVE & 1)
        __asm__ volatile(".byte 0x0f, 0x01, 0xd0" /* xgetbv */ : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool keeps_enough(keeps k) {
    static const uint32_t WANTED[] = {[NOTHING] = 0, [YMM] = 6, [ZMM] = 0xe6, [TILES] = 3 << 17};
    return (kept_registers() & WANTED[k]) == WANTED[k] && ((k != YMM && k != ZMM) || ask(1, 0).reg[ECX] >> 28 & 1);
}

static bool has_row(size_t i) {
    return ask(FEATURES[i].leaf, FEATURES[i].sub).reg[FEATURES[i].reg] >> FEATURES[i].bit & 1 && keeps_enough(FEATURES[i].keeps);
}

static bool has(const char *name) {
    for (size_t i = 0; i < TC_LEN(FEATURES); i++)
        if (!strcmp(FEATURES[i].name, name))
            return has_row(i);
    return false;
}

void tc_cg_cpuid_features(tc_strbuf *b) {
    for (size_t i = 0; i < TC_LEN(FEATURES); i++)
        tc_sb_printf(b, "%s%c%s", b->len ? "," : "", has_row(i) ? '+' : '-', FEATURES[i].name);
}

static bool read_vendor(vendor *v) {
    const answer a = ask_leaf(0, 0);
    char text[13] = "";
    memcpy(text, &a.reg[EBX], 4);
    memcpy(text + 4, &a.reg[EDX], 4);
    memcpy(text + 8, &a.reg[ECX], 4);
    *v = strcmp(text, "AuthenticAMD") ? INTEL : AMD;
    return *v == AMD || !strcmp(text, "GenuineIntel");
}

const char *tc_cg_cpuid_name(void) {
    vendor v;
    const uint32_t a = ask(1, 0).reg[EAX];
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
