/* What emulation.h describes. An emulator itself answers the usual questions of its program: /proc/self/exe is the program, and
 * /proc/self/cmdline has the program's arguments. But the kernel answers /proc/thread-self. For the kernel the process is the
 * emulator, whose arguments come before the program and its arguments. If both names give the same answer, there is no emulator. */
#include "support/system/emulation.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/alloc.h"
#include "support/system/fs.h"

enum { LONGEST = 1 << 17 /* bytes of a command line */ };

static bool link_of(const char *path, char out[PATH_MAX]) {
    ssize_t n = readlink(path, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* A program runs this one, in the same machine. */
static bool is_run_by_another(void) {
    char seen[PATH_MAX], run[PATH_MAX];
    return link_of("/proc/self/exe", seen) && link_of("/proc/thread-self/exe", run) && strcmp(seen, run) != 0;
}

bool tc_cpuid_is_emulator(uint32_t features, const uint32_t vendor[3]) {
    static const char tcg[] = "TCGTCGTCGTCG";   /* "KVMKVMKVM" and others are of processors that are there */
    const uint32_t beneath = UINT32_C(1) << 31; /* there is such a leaf */
    return (features & beneath) && memcmp(vendor, tcg, 3 * sizeof *vendor) == 0;
}

#ifdef __x86_64__
static bool is_of_emulated_machine(void) {
    enum { FEATURES = 1, VENDOR = 0x40000000 };
    uint32_t highest, features, other, vendor[3];
    __cpuid(FEATURES, highest, other, features, vendor[0]);
    __cpuid(VENDOR, highest, vendor[0], vendor[1], vendor[2]);
    return tc_cpuid_is_emulator(features, vendor);
}
#else
static bool is_of_emulated_machine(void) {
    return false; /* nothing says so */
}
#endif

bool tc_is_emulated(void) {
    return is_run_by_another() || is_of_emulated_machine();
}

/* Reads a command line, words that each end with a zero; how many. 0: it is not known. */
static size_t words_of(const char *path, char text[LONGEST]) {
    size_t n = tc_fs_read_head(path, text, LONGEST), words = 0;
    for (size_t i = 0; i < n; i++)
        words += text[i] == 0;
    return n < LONGEST ? words : 0;
}

/* `n` words of `text`, of which the first is `first`, and two more. */
static char **join(const char *first, const char *text, size_t n, const char *program, const char *argument) {
    const char *end = text;
    for (size_t i = 0; i < n; i++)
        end += strlen(end) + 1;
    const char *rest = text + strlen(text) + 1;
    size_t words = (n + 3) * sizeof(char *),
           sizes[] = {strlen(first) + 1, (size_t)(end - rest), strlen(program) + 1, strlen(argument) + 1};
    const char *from[] = {first, rest, program, argument};
    char **out = tc_xcalloc(1, words + sizes[0] + sizes[1] + sizes[2] + sizes[3]), *at = (char *)out + words;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++, at += sizes[i - 1])
        memcpy(at, from[i], sizes[i]);
    at = (char *)out + words;
    for (size_t i = 0; i < n + 2; i++, at += strlen(at) + 1)
        out[i] = at;
    return out;
}

char **tc_emulated_command(const char *program, const char *argument) {
    char own[PATH_MAX], emulator[PATH_MAX], **out = NULL;
    bool itself = strcmp(program, "/proc/self/exe") == 0;
    if (!is_run_by_another() || !link_of("/proc/thread-self/exe", emulator) || (itself && !link_of(program, own)))
        return NULL;
    char *all = tc_xcalloc(1, 2 * LONGEST);
    size_t seen = words_of("/proc/self/cmdline", all + LONGEST), run = words_of("/proc/thread-self/cmdline", all);
    if (seen > 0 && run > seen)
        out = join(emulator, all, run - seen, itself ? own : program, argument);
    free(all);
    return out;
}
