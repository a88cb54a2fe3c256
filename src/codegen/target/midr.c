/* LLVM's name of an AArch64 processor, found in the text of /proc/cpuinfo by LLVM's own rules. Where cores are of several
 * kinds, the last one in the list counts. See midr.def. */
#include <stdlib.h>
#include <string.h>

#include "codegen/target/target_int.h"

/* As the architecture numbers them (MIDR_EL1). */
enum {
    ARM = 0x41,
    BROADCOM = 0x42,
    CAVIUM = 0x43,
    FUJITSU = 0x46,
    HISILICON = 0x48,
    NVIDIA = 0x4e,
    QUALCOMM = 0x51,
    SAMSUNG = 0x53,
    MICROSOFT = 0x6d,
    AMPERE = 0xc0
};

static const struct {
    unsigned long implementer, part;
    const char *name;
} PARTS[] = {
#define PART(implementer, part, name) {implementer, part, name},
#include "codegen/target/midr.def"
};

/* What stands behind a word at the beginning of a line, of the last such line: n characters; NULL: of none. */
static const char *last_value(const char *cpuinfo, const char *word, size_t *n) {
    const char *value = NULL;
    for (const char *line = cpuinfo; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, word, strlen(word)) == 0)
            value = line + strlen(word);
    if (!value)
        return NULL;
    value += strspn(value, "\t :");
    *n = strcspn(value, "\n");
    return value;
}

/* 0 where there is none. */
static unsigned long last_number(const char *cpuinfo, const char *word) {
    size_t n;
    char *end;
    const char *value = last_value(cpuinfo, word, &n);
    unsigned long number = value && n ? strtoul(value, &end, 0) : 0;
    return number && end == value + n ? number : 0;
}

static bool ends_with(const char *text, size_t n, const char *end) {
    size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* Kernels of these systems tell of whichever core they happen to run on; all have this one. */
static bool tells_of_any_core(const char *cpuinfo) {
    size_t n;
    const char *system = last_value(cpuinfo, "Hardware", &n);
    return system && (ends_with(system, n, "MSM8994") || ends_with(system, n, "MSM8996"));
}

const char *tc_cg_arm_name(const char *cpuinfo) {
    unsigned long implementer = last_number(cpuinfo, "CPU implementer"), part = last_number(cpuinfo, "CPU part");
    if (implementer == ARM && tells_of_any_core(cpuinfo))
        return "cortex-a53";
    if (implementer == SAMSUNG) /* all others are taken for the older one */
        return part == 3 && last_number(cpuinfo, "CPU variant") == 1 ? "exynos-m4" : "exynos-m3";
    for (size_t i = 0; i < TC_LEN(PARTS); i++)
        if (PARTS[i].implementer == implementer && PARTS[i].part == part)
            return PARTS[i].name;
    return "generic";
}
