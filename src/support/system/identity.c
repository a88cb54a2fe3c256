/* The build is known by the build id, which the linker leaves in a note of the program's segments. The machine is known by
 * /etc/machine-id or, in an image without this file, by the kernel's boot id. Neither leaves this process unhashed, as the manual
 * of machine-id demands. Containers of one image share these ids, and everybody on the machine can read them. Only the user's
 * secret makes a key of them. */
#include "support/system/identity.h"

#include <string.h>

#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/system/image_int.h"
#include "support/system/secret.h"

/* ---- the build ---- */

typedef struct build_search {
    tc_digest *out;
    bool found;
} build_search;

/* The build id among the notes of one segment. */
static bool read_notes(const char *at, size_t left, tc_digest *out) {
    enum { BUILD_ID = 3 };
    while (left >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)at;
        size_t name = (n->n_namesz + 3u) & ~(size_t)3, size = sizeof *n + name + ((n->n_descsz + 3u) & ~(size_t)3);
        if (size > left)
            return false;
        if (n->n_type == BUILD_ID && n->n_namesz == 4 && !memcmp(at + sizeof *n, "GNU", 4)) {
            *out = tc_digest_of(at + sizeof *n + name, n->n_descsz);
            return true;
        }
        at += size;
        left -= size;
    }
    return false;
}

static void look_for_id(const struct dl_phdr_info *info, void *user) {
    build_search *b = user;
    for (int i = 0; i < info->dlpi_phnum && !b->found; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            b->found = read_notes((const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, b->out);
    }
}

bool tc_build_identity(tc_digest *out) {
    build_search b = {.out = out};
    tc_own_image(look_for_id, &b);
    return b.found;
}

/* ---- the machine ---- */

/* The first line of a small file, without its end; how long it is. */
static size_t first_line(const char *path, char *out, size_t size) {
    out[tc_fs_read_head(path, out, size - 1)] = 0;
    out[strcspn(out, "\n")] = 0;
    return strlen(out);
}

enum { LONGEST = 64 };

/* Systemd's manual: an image that was not started yet has "uninitialized" in it, or nothing. */
static size_t name_of_machine(char out[LONGEST + 1]) {
    enum { LEAST = 32 /* digits: 128 bits */ };
    size_t n = first_line("/etc/machine-id", out, LONGEST + 1);
    return n >= LEAST ? n : first_line("/proc/sys/kernel/random/boot_id", out, LONGEST + 1);
}

/* Fixed for all times: what is stored is compared with it. */
static bool seal_for(const char *purpose, const void *p, size_t n, tc_seal *out) {
    char machine[LONGEST + 1];
    tc_secret secret;
    tc_strbuf b = {0};
    if (name_of_machine(machine) == 0 || !tc_user_secret(&secret))
        return false;
    tc_sb_printf(&b, "%s\n%s", machine, purpose);
    tc_seal key = tc_seal_of(secret.bytes, sizeof secret.bytes, b.data, b.len);
    tc_strbuf_free(&b);
    *out = tc_seal_of(key.hex, TC_SEAL_KEY, p, n);
    return true;
}

bool tc_host_identity(tc_seal *out) {
    return seal_for("tctune: the name of this user's machine", "", 0, out);
}

bool tc_host_seal(const void *p, size_t n, tc_seal *out) {
    return seal_for("tctune: what was found here", p, n, out);
}
