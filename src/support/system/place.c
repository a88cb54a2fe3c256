/* What place.h describes. The loader knows the names of libraries; the program is what the kernel runs. */
#include "support/system/place.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "support/system/image_int.h"

/* ---- the image ---- */

typedef struct image_search {
    uintptr_t here;
    void (*fn)(const struct dl_phdr_info *info, void *user);
    void *user;
} image_search;

static bool holds(const struct dl_phdr_info *info, uintptr_t address) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
            return true;
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *user) {
    const image_search *s = user;
    (void)size;
    if (!holds(info, s->here))
        return 0;
    s->fn(info, s->user);
    return 1;
}

void tc_own_image(void (*fn)(const struct dl_phdr_info *info, void *user), void *user) {
    static const char here;
    image_search s = {(uintptr_t)&here, fn, user};
    dl_iterate_phdr(visit, &s);
}

/* ---- its place ---- */

/* The kernel also tells under which name the program was started. That name needs no /proc. */
bool tc_place_program(char out[PATH_MAX]) {
    unsigned long name = getauxval(AT_EXECFN);
    if (realpath("/proc/self/exe", out) || (name && realpath((const char *)name, out)))
        return true;
    *out = 0;
    return false;
}

/* user: PATH_MAX characters, "" before. */
static void take_path(const struct dl_phdr_info *info, void *user) {
    if (!*info->dlpi_name)
        (void)tc_place_program(user);
    else if (!realpath(info->dlpi_name, user))
        *(char *)user = 0;
}

bool tc_place_own(char out[PATH_MAX]) {
    *out = 0;
    tc_own_image(take_path, out);
    char *slash = strrchr(out, '/');
    if (slash)
        slash[slash == out] = 0;
    return slash != NULL;
}

static void see_name(const struct dl_phdr_info *info, void *user) {
    *(bool *)user = !*info->dlpi_name;
}

bool tc_place_is_program(void) {
    bool is = false;
    tc_own_image(see_name, &is);
    return is;
}

bool tc_place_find(const char *const *paths, size_t n, char out[PATH_MAX]) {
    char own[PATH_MAX];
    bool found = false;
    if (!tc_place_own(own))
        return false;
    for (size_t i = 0; i < n && !found; i++)
        found = snprintf(out, PATH_MAX, "%s/%s", own, paths[i]) < PATH_MAX && access(out, F_OK) == 0;
    return found;
}
